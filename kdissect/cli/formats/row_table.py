"""A table of a command, its rows as JSON has them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Facts = dict[str, Any]


class RowTable(NamedTuple):
    """One table of a command.

    `columns` are the default ones, by their dotted names. Without them the table has the columns of its rows,
    except lists of rows.
    """

    name: str
    rows: Callable[[], Iterable[Facts]]
    columns: Sequence[str] = ()
