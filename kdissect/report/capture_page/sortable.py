"""Tables that the page's script sorts and filters, from the columns of the commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.cells import TableColumn, used_columns
from kdissect.report.html.markup import Markup, code, element, join, scrolled, section, table, wire

Facts = dict[str, Any]
# Rows of a table: 500 KB of the page.
MAX_ROWS = 500
_MAX_CHARACTERS = 200  # of a cell: a client id may have 32,767


def sortable_section(
    place: tuple[str, str],
    columns: Sequence[TableColumn],
    rows: Iterable[Facts],
    command: str,
) -> Markup:
    """Return a section with one table. `command` prints all rows."""
    more_rows = iter(rows)
    shown = list(islice(more_rows, MAX_ROWS))
    if not shown:
        return section(*place, element("p", "None.", class_="empty"))
    left = sum(1 for _ in more_rows)
    used = used_columns(columns, shown)
    heads = [f"#{column.title}" if column.right else column.title for column in used]
    title = place[1]
    grid = scrolled(title, table(heads, (_cells(used, row) for row in shown), title, "sortable"))
    end = f"{plural(left, 'more row', spec=',')}: " if left else "With all columns: "
    return section(*place, grid, element("p", end, code(command), class_="note more-rows"))


def _cells(columns: Sequence[TableColumn], row: Facts) -> Iterator[Markup]:
    for column in columns:
        cell = (column.dated or column.cell)(row)
        kinds = join(("number" if column.right else "", cell.style), " ").strip()
        shown = short_text(cell.text)
        yield element("td", shown if column.right or not shown else wire(shown), class_=kinds or None)


def short_text(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}\N{HORIZONTAL ELLIPSIS}"
