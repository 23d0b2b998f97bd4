"""The columns of the table of connections that came to nothing."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, number_column, text_column
from kdissect.report.quantities import duration

Row = dict[str, Any]


def problem_columns() -> list[TableColumn]:
    """Who wanted to go where, why it came to nothing, and the packets that show it."""
    return [
        number_column("#", "number", 3, 4, style="dim"),
        TableColumn("start", lambda row: Cell(row["start"][11:26]), 15, 3),
        TableColumn("duration", lambda row: Cell(duration(row["duration_ns"])), 9, 2, right=True),
        TableColumn("client", lambda row: Cell(row["client"]), 15),
        text_column("client id", "client_id", 9, 1),
        TableColumn("broker", lambda row: Cell(row["broker"]), 15),
        TableColumn("reason", lambda row: Cell(row["reason"], "odd" if row["kafka"] else ""), 6),
        TableColumn("packets", lambda row: Cell(_ranges(row["packets"])), 7, 1),
        text_column("", "sentence"),
    ]


def _ranges(numbers: list[int]) -> str:
    """`12-14, 20`: numbers that follow each other as one."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
