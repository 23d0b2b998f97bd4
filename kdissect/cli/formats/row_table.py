"""A table of a command, its rows as JSON has them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Facts = dict[str, Any]


class RowTable(NamedTuple):
    """One table of a command.

    `columns` are the usual ones, by their dotted names; without them they are what its rows have, but for
    lists of other rows.
    """

    name: str
    rows: Callable[[], Iterable[Facts]]
    columns: Sequence[str] = ()
