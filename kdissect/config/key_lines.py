"""The lines of keys in a TOML file: tomllib returns values without their positions.

Good enough for messages, and never wrong by guessing: a key that is not found has the line of its
surroundings. TOML v1.0.0, sections "Keys", "Table" and "Array of Tables".
"""

import re

Path = tuple[str | int, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_TABLE = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]\s*(?:#.*)?$")
_ARRAY = re.compile(rf"\s*\[\[\s*({_DOTTED})\s*\]\]\s*(?:#.*)?$")
_ASSIGNED = re.compile(rf"\s*({_DOTTED})\s*=")
_PART = re.compile(_KEY)
_LONG_STRING = re.compile(r'"""|' + "'''")


class KeyLines:
    """The lines of a file's keys and tables."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._table: Path = ()
        inside = ""  # the quotes of a long string that is open
        for number, line in enumerate(text.splitlines(), 1):
            if not inside:
                self._add(line, number)
            inside = _open_string(line, inside)

    def line(self, path: Path) -> int:
        """Line of a key, or of the nearest thing around it that has one; 0 if there is none."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return 0

    def _add(self, line: str, number: int) -> None:
        if array := _ARRAY.match(line):
            path = _parts(array[1])
            index = self._counts[path] = self._counts.get(path, -1) + 1
            self._table = (*path, index)
        elif table := _TABLE.match(line):
            self._table = _parts(table[1])
        elif assigned := _ASSIGNED.match(line):
            self._lines.setdefault((*self._table, *_parts(assigned[1])), number)
            return
        else:
            return
        self._lines.setdefault(self._table, number)


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _open_string(line: str, inside: str) -> str:
    """Return the quotes of the long string that is open at the end of the line."""
    for quotes in _LONG_STRING.findall(line):
        if not inside:
            inside = quotes
        elif quotes == inside:
            inside = ""
    return inside
