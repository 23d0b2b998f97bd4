"""The columns of `-e`."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.field_columns import Column
from kdissect.report.cell_text import cell
from kdissect.report.cells import Cell, TableColumn


def chosen_columns(names: Sequence[str]) -> list[TableColumn]:
    """Columns for `-e`: every one is shown, however narrow the terminal."""
    return [TableColumn(name, _chosen(Column(name))) for name in names]


def _chosen(column: Column) -> Any:
    return lambda row: Cell(cell(column.value(row)))
