"""Options of every command from the configuration file: `[command.NAME]`, `[command.all]`, `[profile.NAME]`;
coloring rules.

A key takes the values of its option. The command line wins. A fault is an error with file and line.
"""

from __future__ import annotations

import os
from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from kdissect.cli.options.wanted_names import near_names
from kdissect.config.coloring import KEY as COLORING
from kdissect.config.read import ConfigFile

COMMAND, PROFILE, ALL = "command", "profile", "all"
# Nothing here shows secrets, writes files or leaves something out of a verdict: that is typed.
KEYS = {
    "hosts": "--hosts", "keylog": "--keylog", "topic-ids": "--topic-ids", "port": "--port",
    "only-port": "--only-port", "format": "--format", "columns": "-e", "color": "--color", "wide": "--wide",
    "time": "--time", "sort": "--sort", "limit": "--limit", "by": "--by", "filter": "--filter",
    "key-format": "--key-format", "value-format": "--value-format", "snaplen": "--snaplen",
    "capture-filter": "--capture-filter",
}  # fmt: skip
# The traffic that a verdict covers must be typed, as a filter or a profile.
_CHOOSING = ("filter", "capture-filter")
_VERDICTS = ("check", "upgrade")
# Options for rows, which for a report do not come from `all`.
_OF_ROWS, _REPORT = ("columns", "sort", "limit"), "check"
# Commands whose lines are exchanges.
_COLORED = ("inspect", "live", "tui")
_PATHS = ("hosts", "keylog", "topic-ids")
_HOSTS_VARIABLE = "KDISSECT_HOSTS"  # goes before the file


class Defaults:
    """Values of a file for one command: `before` the arguments are parsed, and `behind` for lists."""

    def __init__(self, parser: ArgumentParser, file: ConfigFile, profile: str | None) -> None:
        self._parser = parser
        self._file = file
        self._lists: dict[str, list[Any]] = {}
        self._values: dict[str, Any] = {}
        self._command = parser.prog.removeprefix("kdissect ")
        for path, is_own in _sections(file, self._command, profile):
            self._take(path, is_own)
        if COLORING in file.table and self._command in _COLORED:
            from kdissect.query.exchange_colors import compile_rules  # start-up: the filter language

            self._values["coloring"] = compile_rules(file)

    def before(self) -> None:
        """Set the defaults of options that take one value."""
        self._parser.set_defaults(**self._values)

    def behind(self, options: Namespace) -> None:
        """Fill lists that the command line leaves empty."""
        for name, values in self._lists.items():
            if not getattr(options, name, None):
                setattr(options, name, values)

    def _take(self, path: tuple[str, ...], is_own: bool) -> None:
        actions = {text: action for action in self._parser._actions for text in action.option_strings}  # noqa: SLF001
        for spelled, value in _table(self._file, path).items():
            key = spelled.replace("_", "-")
            where = (*path, spelled)
            if key not in KEYS:
                near = near_names(key, KEYS)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
                raise self._file.error(where, f"unknown key {spelled!r}; {hint}")
            is_typed = key in _CHOOSING and path[0] == COMMAND and self._command in _VERDICTS
            if is_typed and is_own:
                raise self._file.error(
                    where, f"what {self._command} judges comes from the command line, not from a file"
                )
            is_of_rows = key in _OF_ROWS and self._command == _REPORT
            is_left = is_typed or (is_of_rows and path == (COMMAND, ALL))
            action = None if is_left else actions.get(KEYS[key])
            if action is None:
                if is_own:
                    raise self._file.error(where, f"{self._parser.prog} has no option {KEYS[key]}")
            elif key != "hosts" or _HOSTS_VARIABLE not in os.environ:
                self._set(key, action, value, where)

    def _set(self, key: str, action: Action, value: Any, where: tuple[str, ...]) -> None:
        if action.nargs == 0:
            self._values[action.dest] = self._typed(where, value, bool, "true or false")
        elif type(action).__name__ in ("_AppendAction", "_ExtendAction"):
            items = value if isinstance(value, list) else [value]
            found = [self._converted(key, action, item, where) for item in items]
            if type(action).__name__ == "_ExtendAction":
                found = [word for words in found for word in words]
            self._lists[action.dest] = found
        else:
            self._values[action.dest] = self._converted(key, action, value, where)

    def _converted(self, key: str, action: Action, value: Any, where: tuple[str, ...]) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self._file.error(where, f"{where[-1]!r} is a text or a number, or a list of them")
        text = str(value)
        if key in _PATHS:
            text = os.path.join(os.path.dirname(self._file.path), text)  # noqa: PTH118, PTH120
        if action.choices is not None and text not in action.choices:
            choices = ", ".join(map(str, action.choices))
            raise self._file.error(where, f"{where[-1]!r} is one of {choices}, not {text!r}")
        if not callable(action.type):
            return text
        try:
            return action.type(text)
        except (ArgumentTypeError, ArgumentError, ValueError) as error:
            raise self._file.error(where, f"{where[-1]!r}: {error}") from None

    def _typed(self, where: tuple[str, ...], value: Any, kind: type, what: str) -> Any:
        if not isinstance(value, kind):
            raise self._file.error(where, f"{where[-1]!r} is {what}")
        return value


def _sections(file: ConfigFile, command: str, profile: str | None) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the tables that apply to a command, each before tables that override it, and whether it is the
    command's own.
    """
    commands = _table(file, (COMMAND,))
    if ALL in commands:
        yield (COMMAND, ALL), False
    if command in commands:
        yield (COMMAND, command), True
    if profile is None:
        return
    profiles = _table(file, (PROFILE,))
    if profile not in profiles:
        raise file.error((PROFILE,), f"no profile {profile!r}; there are {', '.join(profiles) or 'none'}")
    yield (PROFILE, profile), False


def _table(file: ConfigFile, path: tuple[str, ...]) -> Mapping[str, Any]:
    table: Any = file.table
    for part in path:
        table = table.get(part, {})
        if not isinstance(table, dict):
            raise file.error(path, f"{'.'.join(path)!r} is a table")
    found: Mapping[str, Any] = table
    return found
