"""Columns of rows: `-e FIELD` names to columns."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdissect.cli.options.wanted_names import near_names
from kdissect.engine.exchange_rows import RowField
from kdissect.engine.row_columns import Column

_BODIES = ("request.body.", "response.body.")
# Before a name: the columns that would be printed without `-e`, and this one.
_MORE = "+"
_EXCHANGE = "exchange"  # `Behind.EXCHANGE`: rows with bodies
ROW_COLOR = ""
"""The key of a row under which its colour is, where a coloring rule gives it one."""


def split_names(options: Iterable[str]) -> list[str]:
    """`-e a,b -e c` to `[a, b, c]`."""
    return [name for option in options for name in option.split(",") if name]


def columns_of(names: Sequence[str], fields: Sequence[RowField], behind: str) -> list[Column]:
    """Return the columns of names as `-e` or a filter (`-Y`) spells them, including any field inside a body.

    `behind` is a `query.fields.printed_fields.Behind`: the source of further values for such rows. Raises
    ValueError for a name that no row has.
    """
    known = [field.name for field in fields]
    return [_column(name, known, behind) for name in names]


def _column(name: str, known: Sequence[str], behind: str) -> Column:
    if name in known or (behind == _EXCHANGE and name.startswith(_BODIES)):
        return Column(name)
    # start-up: rows have most names
    from kdissect.query.fields.lookup import UnknownFieldError
    from kdissect.query.fields.printed_fields import Behind, names_behind, printed_field

    try:
        return Column(*printed_field(name, known, Behind(behind)))
    except UnknownFieldError as error:
        near = near_names(name, [*known, *names_behind(Behind(behind))])
        hint = f"did you mean {near[0]}?" if near else error.hint or f"fields are {', '.join(known)}"
        raise ValueError(f"{error.why}; {hint}") from None


def split_more(names: Sequence[str]) -> tuple[list[str], bool]:
    """Return the names of `-e`, and whether they come behind the usual columns: one has a plus before it."""
    return [name.removeprefix(_MORE) for name in names], any(name.startswith(_MORE) for name in names)


def needs_bodies(columns: Iterable[Column]) -> bool:
    """Return whether a column shows something that only decoded bodies have."""
    return any(part in ("body", "error") for column in columns for part in column.keys[1:2])


class Room(NamedTuple):
    """Place of a cell's text: text before and after it, the width to which it is padded (0 for none), and on
    which side the text is then (-1 left, 1 right, 0 if it is only cut).
    """

    before: bytes
    behind: bytes = b""
    width: int = 0
    side: int = 0


def as_columns(names: Sequence[str | Column]) -> list[Column]:
    """Return names of fields as columns, and columns as they are."""
    return [name if isinstance(name, Column) else Column(name) for name in names]
