"""Every table as text: its cells and their styles, and the columns that go where a terminal gets narrower.

`python -m tests.regenerate pages` writes them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.cli.formats.text_table import TableFormat
from tests.report.columns.hand_made_rows import TABLES, Table

GOLDEN = Path(__file__).parent / "tables"
WIDEST = 2000


def lines_of(table: Table) -> Iterator[str]:
    """Yield the cells of each row, with their styles in brackets; the table; what it leaves out, and when."""
    for row in table.rows:
        cells = [(column.title, *column.cell(row)) for column in table.columns]
        shown = (f"{title}: {text}{f' [{style}]' if style else ''}" for title, text, style in cells if text)
        yield "; ".join(shown)
    yield "---"
    yield from printed(table, WIDEST)
    yield "--- without rows"
    empty = Table(table.columns, ())
    (head,) = printed(empty, WIDEST)
    yield head
    left_out = ""
    for width in range(len(head) + 20, 0, -1):  # the last column may be wider than its title
        found = " ".join(printed(empty, width)[1:]).removesuffix(": --wide shows all")
        if found != left_out:
            yield f"{width} {found}"
            left_out = found
    yield "--- of the row"
    for column in table.columns:
        if column.value or column.moment:
            yield f"{column.title}: {column.value}{column.moment}{' (of the day)' if column.dated else ''}"
    yield "--- on the right, and no narrower than"
    for column in table.columns:
        if column.right or column.min_width:
            yield f"{column.title}:{' right' if column.right else ''} {column.min_width or ''}".rstrip()


def printed(table: Table, width: int) -> list[str]:
    """Return what a terminal of that width shows."""
    made = TableFormat(table.columns, colour=False, width=width, header=True, sample=WIDEST)
    parts = [made.line(row) for row in table.rows]
    return b"".join([*parts, made.tail()]).decode().splitlines()


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    found = "".join(f"{line}\n" for line in lines_of(TABLES[name]()))
    golden = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("KDISSECT_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
