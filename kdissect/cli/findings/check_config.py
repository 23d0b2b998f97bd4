"""The options of `check`: from the command line, and from the project's configuration file below it.

Rules:
- A key of the file is an option without its dashes. A key takes the values of its option: this module only
  lists which options have keys.
- The command line wins: an option given there replaces the file's key. `--select` replaces `select` and
  `ignore` together, or the file's `ignore` would silence what was just asked for.
- Paths are relative to the file they stand in.
- Anything unknown or of the wrong type is an error (exit code 2): a misspelled key would otherwise be a
  setting that silently does not hold.
"""

import os
from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
)
from collections.abc import Sequence
from typing import Any

from kdissect.cli.diagnostics import USAGE, say
from kdissect.cli.options.config_defaults import COMMAND, PROFILE
from kdissect.cli.options.wanted_names import near_names
from kdissect.config.coloring import KEY as COLORING
from kdissect.config.read import ConfigError, ConfigFile, find_config, read_config
from kdissect.config.suppression import KEY as SUPPRESS
from kdissect.config.suppression import Suppression, parse_suppressions
from kdissect.rules.registry import EVERY_RULE
from kdissect.rules.rule_selection import fits, no_such_rule

# Options that show secrets or overwrite files must be typed, and are not read from a file.
KEYS = (
    "select", "ignore", "judge", "strict", "fail-on", "exit-zero", "allow-unread", "format", "statistics",
    "label", "report", "port", "only-port", "baseline", "evidence",
)  # fmt: skip
_TABLES = ("label", "report")  # NAME=VALUE on the command line
PATHS = ("baseline", "evidence", "report")
_PORTS = ("port", "only-port")
_LISTS = ("select", "ignore", "label", "report", "port", "only-port")


class CheckOptions(Namespace):
    """Options from the command line and the file. `suppressions` come from the file alone."""

    suppressions: Sequence[Suppression] = ()


def add_config(parser: ArgumentParser) -> None:
    """Add `--config` and `--no-config`."""
    group = parser.add_argument_group("configuration (docs/configuration.md)")
    which = group.add_mutually_exclusive_group().add_argument
    which("--config", metavar="FILE", help=(
        "kdissect.toml or pyproject.toml to use (default: the nearest, from here upwards)"
    ))  # fmt: skip
    which("--no-config", action="store_true", help="use no configuration file")


def parse_options(parser: ArgumentParser, arguments: Sequence[str]) -> CheckOptions:
    """Return options of a run. Leaves with exit code 2 where the command line or the file is wrong."""
    given = parser.parse_args(arguments, CheckOptions())
    if given.no_config:
        return given
    path = given.config or find_config(os.curdir)
    if path is None:
        return given
    try:
        file = read_config(path)
        values = _values(parser, file)
        given.suppressions = _suppressions(file)
    except ConfigError as error:
        say(str(error))
        raise SystemExit(USAGE) from None
    return _merged(parser, arguments, given, values)


def _merged(
    parser: ArgumentParser, arguments: Sequence[str], given: CheckOptions, values: dict[str, Any]
) -> CheckOptions:
    lists = {name: values.pop(name) for name in _LISTS if name in values}
    if given.select:
        lists.pop("ignore", None)
    parser.set_defaults(**{name.replace("-", "_"): value for name, value in values.items()})
    merged = parser.parse_args(arguments, CheckOptions(suppressions=given.suppressions))
    for key, value in lists.items():
        name = key.replace("-", "_")
        if not getattr(merged, name):
            setattr(merged, name, value)
    return merged


def _values(parser: ArgumentParser, file: ConfigFile) -> dict[str, Any]:
    """Return the file's values, in the form of the parser."""
    options = {
        text.removeprefix("--"): action
        for action in parser._actions  # noqa: SLF001  argparse has no other way to ask
        for text in action.option_strings
    }
    known = {key: options[key] for key in KEYS if key in options}
    found = {}
    for key, value in file.table.items():
        if key in (SUPPRESS, COMMAND, PROFILE, COLORING):  # the last three: of other commands, too
            continue
        if key not in known:
            raise file.error((key,), f"unknown key {key!r}{_meant(key, [*known, SUPPRESS])}")
        found[key] = _value(file, key, value, known[key])
    return found


def _value(file: ConfigFile, key: str, value: Any, action: Action) -> Any:
    if isinstance(action, BooleanOptionalAction):
        return _typed(file, key, value, bool, "true or false")
    if key in _TABLES:
        entries = _typed(file, key, value, dict, 'a table of NAME = "VALUE"')
        return [_entry(file, key, name, entries[name], action) for name in entries]
    if key in _LISTS:
        kind = int if key in _PORTS else str
        items = _typed(file, key, value, list, f"a list of {'numbers' if kind is int else 'texts'}")
        words = [
            _converted(file, (key,), _typed(file, key, item, kind, "such a list"), action) for item in items
        ]
        return [word for item in words for word in (item if isinstance(item, list) else [item])]
    text = _typed(file, key, value, str, "a text")
    if action.choices is not None and text not in action.choices:
        raise file.error((key,), f"{key!r} is {' or '.join(map(repr, action.choices))}, not {text!r}")
    return _beside(file, text) if key in PATHS else text


def _entry(file: ConfigFile, key: str, name: str, value: Any, action: Action) -> Any:
    if not isinstance(value, str) or not value:
        raise file.error((key, name), f"{key}.{name} is a text that is not empty")
    return _converted(file, (key, name), f"{name}={_beside(file, value) if key in PATHS else value}", action)


def _converted(file: ConfigFile, path: tuple[str, ...], value: Any, action: Action) -> Any:
    """Return a value as the option's own parser has it."""
    convert = action.type
    if not callable(convert):
        return value
    try:
        return convert(str(value))
    except (ArgumentTypeError, ArgumentError, ValueError) as error:
        raise file.error(path, f"{path[0]!r}: {error}") from None


def _typed(file: ConfigFile, key: str, value: Any, kind: type, what: str) -> Any:
    # bool is an int for Python, and not for TOML
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise file.error((key,), f"{key!r} is {what}")
    return value


def _beside(file: ConfigFile, path: str) -> str:
    return os.path.join(os.path.dirname(file.path), path)  # noqa: PTH118, PTH120


def _meant(key: str, known: Sequence[str]) -> str:
    close = near_names(key, known)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _suppressions(file: ConfigFile) -> list[Suppression]:
    """Return the file's suppressions, each of which must name an existing rule."""
    for key in ("select", "ignore"):
        for at, name in enumerate(file.table.get(key, ())):
            if not any(fits(word, rule) for word in str(name).split(",") if word for rule in EVERY_RULE):
                raise file.error((key, at), no_such_rule(str(name), EVERY_RULE))
    entries = parse_suppressions(file)
    for index, entry in enumerate(entries):
        if not any(fits(entry.rule, rule) for rule in EVERY_RULE):
            raise file.error((SUPPRESS, index, "rule"), no_such_rule(entry.rule, EVERY_RULE))
    return entries
