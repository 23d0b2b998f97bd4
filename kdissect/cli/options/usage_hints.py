"""Hints for a user who typed something that a command does not accept."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser

from kdissect.cli.options.wanted_names import near_names

_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_CHOICE = re.compile(r"argument ([^:]+): invalid choice: '([^']*)'")
# Names here of options in other commands, and in other tools.
_INSTEAD = {
    ("inspect", "-i"): "kdissect live -i captures",
    ("inspect", "--interface"): "kdissect live -i captures",
    ("extract", "-i"): "kdissect live -i IFACE -w FILE captures, and extract reads the file",
    ("tables", "-i"): "kdissect live -i IFACE -w FILE captures, and tables reads the files",
    ("diff", "-i"): "kdissect live -i IFACE -w FILE captures",
    ("segments", "-i"): "it reads the files of a broker",
    ("tap", "-i"): "it takes the plaintext of a JVM; kdissect live -i captures packets",
    ("extract", "-w"): "-o FILE names the file",
    ("*", "-T"): "--format chooses the format, -e the fields",
    ("*", "-V"): "--format tree shows all fields",
    ("*", "-c"): "--limit N ends after N rows",
    ("*", "-R"): "-Y is the filter",
    ("*", "-d"): "--port N says that a port is that of a broker",
    ("*", "--quiet"): "messages go to standard error: 2> /dev/null leaves them out",
}


def hinted(parser: ArgumentParser, message: str) -> str:
    """Return the message of argparse, with what was meant, where something is near."""
    if found := _UNKNOWN.match(message):
        return f"{message}{_of_option(parser, found[1])}"
    if found := _CHOICE.match(message):
        choices = _choices(parser, found[1])
        near = near_names(found[2].casefold(), choices)
        return f"argument {found[1]}: no {found[2]!r}" + (
            f"; did you mean {near[0]}?" if near else f"; there are {', '.join(choices)}"
        )
    return message


def _of_option(parser: ArgumentParser, word: str) -> str:
    name, command = word.partition("=")[0], parser.prog.rpartition(" ")[2]
    options = [
        option
        for action in parser._actions  # noqa: SLF001  argparse has no other way to ask
        if action.help != SUPPRESS
        for option in action.option_strings
    ]
    instead = _INSTEAD.get((command, name)) or _INSTEAD.get(("*", name))
    if instead is not None:
        return f"; {instead}"
    near = near_names(name, options) if name.startswith("--") else []
    return f"; did you mean {near[0]}?" if near else ""


def _choices(parser: ArgumentParser, argument: str) -> list[str]:
    """Return the values that an argument takes, which argparse calls by its options or its place."""
    for action in parser._actions:  # noqa: SLF001  as above
        names = (*action.option_strings, action.metavar, action.dest)
        if action.choices is not None and (argument in names or "/".join(action.option_strings) == argument):
            return [str(choice) for choice in action.choices]
    return []
