"""The argument parser of a command."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, HelpFormatter, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from kdissect.cli.diagnostics import DEBUG, USAGE, write_error
from kdissect.cli.standard_streams import print_text
from kdissect.config.find import has_header, nearest
from kdissect.model.limits import DEFAULT_LIMITS, in_force, use

if TYPE_CHECKING:
    from kdissect.cli.options.config_defaults import Defaults

# Hidden: has a command show its parser, for the completion of shells (`cli.reference.completion_command`).
SHOW_PARSER = "--show-parser"
# Parsed before all other options, wherever it appears: it changes what other options mean and allow.
EARLY_OPTION = "--limits"
_PROFILE = "--profile"
CONFIG, NO_CONFIG = "--config", "--no-config"  # of `check`
CONFIG_VARIABLE = "KDISSECT_CONFIG"


class ParserShownError(Exception):
    """A command was run with `SHOW_PARSER`, and only created its `parser`."""

    def __init__(self, parser: ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


class _ShowParser(Action):
    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        raise ParserShownError(parser)


class _Formatter(HelpFormatter):
    """argparse makes one for every option it adds, and each would import shutil, for the width: 4 ms."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


class _Parser(ArgumentParser):
    """Takes `EARLY_OPTION` first, where the command has it. Unprintable words are an error."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As in argparse."""
        words = list(args or ())
        if any(word.startswith(EARLY_OPTION) for word in words):
            words = _early_first(words)
        defaults = None if SHOW_PARSER in words else self._file_defaults(words)
        if defaults is not None:
            defaults.before()
        found, rest = super().parse_known_args(words, namespace)
        if defaults is not None:
            defaults.behind(found)
        if getattr(found, "read_files", None):
            found.paths = [*found.read_files, *found.paths]
        if hasattr(found, "read_files") and not any(word.startswith("-") for word in rest):
            found.paths, rest = [*found.paths, *rest], []  # argparse takes them in one place only
        takes_files = hasattr(found, "read_files") and not hasattr(found, "interfaces")
        if takes_files and not found.paths:
            self.error("the following arguments are required: PATH")
        return found, rest

    def _get_values(self, action: Action, arg_strings: list[str]) -> Any:
        """Return the value of an option. argparse takes `--` away, also where it is the value."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)

    def _file_defaults(self, words: list[str]) -> Defaults | None:
        """Return the defaults in the configuration file, None without one."""
        if NO_CONFIG in words:
            return None
        profile = _value_of(words, _PROFILE)
        path = _value_of(words, CONFIG) or config_path()
        if path is None and profile is None:
            return None
        # start-up: seldom is there a file
        from kdissect.cli.options.config_defaults import Defaults
        from kdissect.config.read import ConfigError, read_config

        try:
            if path is None:
                self.error(f"{_PROFILE} {profile}: there is no configuration file")
            return Defaults(self, read_config(path), profile)
        except ConfigError as error:
            write_error(f"kdissect: {error}\n")
            raise SystemExit(USAGE) from None

    def error(self, message: str) -> NoReturn:
        """Print the error, then where help is, and exit with code 2."""
        from kdissect.cli.options.usage_hints import hinted  # start-up: only where something is wrong

        help_line = f"for the options, run '{self.prog} --help'\n"
        write_error(f"{self.prog}: error: {hinted(self, message)}\n{help_line}")
        raise SystemExit(USAGE)

    def format_help(self) -> str:
        """As in argparse, with examples at the end."""
        from kdissect.cli.options.examples import examples_of  # start-up: only for --help

        return super().format_help() + examples_of(self.prog)

    def _print_message(self, message: str, file: Any = None) -> None:
        """As in argparse, which prints and forgets what cannot be written."""
        if file is sys.stdout:
            print_text(message)
        else:
            write_error(message)


def _value_of(words: list[str], option: str) -> str | None:
    """Return the value of an option, by a look at the words."""
    for at, word in enumerate(words):
        if word == "--":
            break
        if word == option:
            return words[at + 1] if at + 1 < len(words) else ""
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def config_path() -> str | None:
    """Return the file that has options of commands: what `KDISSECT_CONFIG` names, or the nearest from here
    upwards.

    An empty `KDISSECT_CONFIG` means none.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    return nearest(os.curdir, has_header) if named is None else named or None


def _early_first(words: list[str]) -> list[str]:
    early: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*early, *others, word, *rest]
        if word == EARLY_OPTION:
            early += [word, *islice(rest, 1)]
        else:
            (early if word.startswith(f"{EARLY_OPTION}=") else others).append(word)
    return early + others


def command_parser(name: str, description: str) -> ArgumentParser:
    """Return the parser of `kdissect NAME`.

    Options are spelled out: an abbreviation would break when an option is added.
    """
    with _untranslated():
        parser = _Parser(
            prog=f"kdissect {name}", description=description, formatter_class=_Formatter, allow_abbrev=False
        )
    parser.add_argument(SHOW_PARSER, action=_ShowParser, nargs=0, help=SUPPRESS)
    parser.add_argument(_PROFILE, metavar="NAME", help="options of this profile in the configuration file")
    parser.add_argument(DEBUG, action="store_true", help="print a traceback if kdissect itself fails")
    return parser


@contextmanager
def _untranslated() -> Iterator[None]:
    """argparse asks gettext for its headings, which imports locale and looks for missing files: 1 ms, a
    fiftieth of a small capture.
    """
    names = vars(argparse)
    translate = names.get("_", str)
    names["_"] = str
    try:
        yield
    finally:
        names["_"] = translate


def _width() -> int:
    try:
        columns = os.get_terminal_size().columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or 80, 40) - 2


# `--limits`: other bounds than the default ones, for this process and its children.
def add_limits(parser: ArgumentParser) -> None:
    """Add the option. Its limits apply from the parsing on: filters are parsed after it."""
    parser.add_argument(
        EARLY_OPTION,
        metavar="NAME=VALUE,...",
        action=_UseLimits,
        help="change bounds on memory and time, such as batch_bytes=1GiB; see: kdissect limits",
    )
    parser.set_defaults(limits=DEFAULT_LIMITS)


class _UseLimits(Action):
    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, *_: object) -> None:
        from kdissect.model.limit_notes import parse_limits  # start-up: seldom given

        try:
            use(parse_limits(values, in_force()))
        except ValueError as error:
            raise ArgumentError(self, str(error)) from None
        setattr(namespace, self.dest, in_force())
