"""Cells and columns that tables of statistics share."""

from kdissect.report.cells import Cell, TableColumn


def count_cell(count: int, style: str = "") -> Cell:
    """A count, nothing for 0."""
    return Cell(str(count) if count else "", style)


def number_column(title: str, field: str) -> TableColumn:
    """A number of the row, nothing for none."""
    return TableColumn(title, lambda row: Cell("" if row[field] is None else str(row[field])), right=True)


def counts_text(counts: dict[str, int]) -> str:
    """`none 3, lz4 2`."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())
