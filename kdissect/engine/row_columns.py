"""A column of rows: its value, by the path at which a row has it."""

from collections.abc import Iterable, Sequence
from typing import Any

_ABSENT = object()


class Column:
    """One column: takes its value out of a row, where its name says or at a path of `keys`.

    `is_made`: a row has it under that name only on request.
    """

    __slots__ = ("_path", "first", "is_made", "keys", "name")

    def __init__(self, name: str, keys: Sequence[str] = (), is_made: bool = False) -> None:
        self.name = name
        self.keys = tuple(keys or name.split("."))
        self.is_made = is_made
        self.first, *self._path = self.keys
        """The key of the row after which the value is."""

    @property
    def place(self) -> str:
        """The name of the row's field."""
        return ".".join(self.keys)

    def value(self, row: dict[str, Any]) -> Any:
        """Return the value, or all values as a list if the path leads through one; None if it is missing."""
        return self.inside(row.get(self.first))

    def inside(self, value: Any) -> Any:
        """Return the value inside the row's value for `first`."""
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
