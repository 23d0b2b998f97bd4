"""Columns of rows: `-e FIELD` names to values and text."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kdissect.cli.options.wanted_names import near_names
from kdissect.engine.exchange_rows import RowField

_BODIES = ("request.body.", "response.body.")
_ABSENT = object()


def split_names(options: Iterable[str]) -> list[str]:
    """`-e a,b -e c` to `[a, b, c]`."""
    return [name for option in options for name in option.split(",") if name]


def check_names(names: Sequence[str], fields: Sequence[RowField]) -> None:
    """Raises ValueError for a name that no row has; anything inside a body is allowed."""
    known = [field.name for field in fields]
    for name in names:
        if name not in known and not name.startswith(_BODIES):
            near = near_names(name, known)
            hint = f"; did you mean {near[0]}?" if near else f"; fields are {', '.join(known)}"
            raise ValueError(f"no field {name!r}{hint}")


def needs_bodies(names: Iterable[str]) -> bool:
    """Whether a name asks for something that only decoded bodies have."""
    return any(part in ("body", "error") for name in names for part in name.split(".")[1:2])


class Room(NamedTuple):
    """Where the text of a cell goes: text before and behind, the width that it is brought to (0 for none),
    on which side the text is then (-1 left, 1 right, 0 where it is cut only).
    """

    before: bytes
    behind: bytes = b""
    width: int = 0
    side: int = 0


class Column:
    """One column: takes its value out of a row."""

    __slots__ = ("_path", "first", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.first, *self._path = name.split(".")
        """The key of the row behind which the value is."""

    def value(self, row: dict[str, Any]) -> Any:
        """The value; all values as a list where the path leads through one; None where nothing is there."""
        return self.inside(row.get(self.first))

    def inside(self, value: Any) -> Any:
        """The same, of what the row has for `first`."""
        if value is None or not self._path:
            return value
        found = _walk(value, self._path, 0)
        return None if found is _ABSENT else found


def _walk(value: Any, path: list[str], depth: int) -> Any:
    while depth < len(path):
        if isinstance(value, list):
            return _flat(_walk(item, path, depth) for item in value)
        if not isinstance(value, dict) or path[depth] not in value:
            return _ABSENT
        value = value[path[depth]]
        depth += 1
    return value


def _flat(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += value
        elif value is not _ABSENT:
            found.append(value)
    return found
