"""Reads a configuration file: its table, and the lines of its keys for messages."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.config.find import MAX_PROJECT_BYTES, SHARED, nearest

if TYPE_CHECKING:
    from kdissect.config.key_lines import KeyLines


_MENTION = b"kdissect"


class ConfigError(Exception):
    """A file that cannot be used. `line` is 1-based, 0 if it is not known."""

    def __init__(self, path: str, line: int, why: str) -> None:
        super().__init__(f"{path}:{line}: {why}" if line else f"{path}: {why}")
        self.path = path
        self.line = line
        self.why = why


_SECTION = ("tool", "kdissect")
_WHERE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")  # how tomllib ends its messages


class ConfigFile(NamedTuple):
    """A file as it was read. `table` holds our keys, `-` in their names; `base` is the path of that table."""

    path: str
    table: Mapping[str, Any]
    base: tuple[str, ...]
    lines: "KeyLines"

    def error(self, path: tuple[str | int, ...], why: str) -> ConfigError:
        """Return an error about a key below our table."""
        line = self.lines.line(self.base + path)
        if not line and path:  # keys may be spelled with _
            spelled = tuple(part.replace("-", "_") if isinstance(part, str) else part for part in path)
            line = self.lines.line(self.base + spelled)
        return ConfigError(self.path, line, why)


def read_config(path: str) -> ConfigFile:
    """Read a file. Raises ConfigError if it cannot be read, is no TOML, or has no section for us."""
    from kdissect.config.key_lines import (
        KeyLines,  # its patterns take a millisecond: only if there is a file
    )

    text, document = _parse(path)
    base = _SECTION if _is_shared(path) else ()
    table: Any = document
    for part in base:
        table = table.get(part) if isinstance(table, dict) else None
    lines = KeyLines(text)
    if not isinstance(table, dict):
        raise ConfigError(path, 0, f"no section [{'.'.join(base)}]")
    return ConfigFile(path, _dashed(path, table, base, lines), base, lines)


def has_section(path: str) -> bool:
    """Return whether a project file configures kdissect. True for one that is no TOML: reading it reports the
    error.
    """
    try:
        read_config(path)
    except ConfigError as error:
        return bool(error.line)
    return True


def _parse(path: str) -> tuple[str, dict[str, Any]]:
    import tomllib  # pure Python, some milliseconds: only if there is a file

    try:
        with open(path, "rb") as file:  # noqa: PTH123  importing pathlib costs more than the reading
            text = file.read().decode("utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise ConfigError(path, 0, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(path, 0, f"not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        why = str(error)
        where = _WHERE.search(why)
        line = int(where[1]) if where and where[1] else text.count("\n") + 1
        raise ConfigError(path, line, why[: where.start()] if where else why) from None


def _is_shared(path: str) -> bool:
    return path.replace("\\", "/").rpartition("/")[2] == SHARED


def _dashed(path: str, table: Mapping[str, Any], base: tuple[str, ...], lines: "KeyLines") -> dict[str, Any]:
    """Return the table with `-` for `_` in its keys, as the options are spelled."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name in found:
            raise ConfigError(path, lines.line((*base, key)), f"{name!r} appears twice")
        found[name] = value
    return found


def find_config(start: str) -> str | None:
    """Return the path, from here, of the nearest file that configures kdissect, None if there is none up to
    the root.

    A `pyproject.toml` that does not name kdissect configures other tools only.
    """
    return nearest(start, _names_us)


def _names_us(path: str) -> bool:
    """Return whether a project file may hold our section: a cheap look before TOML is parsed."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if _MENTION not in file.read(MAX_PROJECT_BYTES):
                return False
    except OSError:
        return False
    return has_section(path)
