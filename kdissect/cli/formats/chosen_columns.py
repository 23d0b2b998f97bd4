"""The columns of `-e`."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.columns import Column
from kdissect.report.cells import Cell, TableColumn, cell


def chosen_columns(names: Sequence[str]) -> list[TableColumn]:
    """Columns for `-e`: every one is shown, however narrow the terminal."""
    return [TableColumn(name, _chosen(Column(name))) for name in names]


def _chosen(column: Column) -> Any:
    return lambda row: Cell(cell(column.value(row)))
