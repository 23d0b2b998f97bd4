"""The tables of mirrors: topics and their copies, places of odd records, translated offsets."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, count_cell, number_column, text_column
from kdissect.report.quantities import duration

Facts = dict[str, Any]


def mirror_columns() -> list[TableColumn]:
    """Return the columns of topics and what became of their records."""
    return [
        text_column("cluster", "source_cluster", rank=2),
        text_column("topic", "source_topic"),
        text_column("copy in", "target_cluster", rank=2),
        text_column("copy", "target_topic"),
        number_column("records", "source_records"),
        number_column("arrived", "arrived"),
        _count("missing", "missing", "bad"),
        _count("passed over", "passed_over", "bad"),
        _count("twice", "duplicates", "bad"),
        _count("out of order", "reordered", "bad"),
        _count("unmatched", "unmatched", "odd"),
        _count("waiting", "waiting"),
        _count("outside", "outside", rank=1),
        _count("copy first", "early", "odd", rank=1),
        _count("unseen offsets", "target_unseen", "dim", rank=1),
        _delay("p50"),
        _delay("p99"),
        _delay("max"),
    ]


def place_columns() -> list[TableColumn]:
    """Return the columns of neighbouring records that are missing, twice, out of order or unmatched."""
    return [
        text_column("what", "what", style="odd"),
        text_column("topic", "source_topic"),
        text_column("copy", "target_topic"),
        number_column("partition", "partition"),
        text_column("offsets of", "side"),
        number_column("first", "first_offset"),
        number_column("last", "last_offset"),
        number_column("records", "records"),
    ]


def translated_columns() -> list[TableColumn]:
    """Return the columns of translated offsets of groups."""
    return [
        text_column("group", "group"),
        text_column("copy", "target_topic"),
        number_column("partition", "partition"),
        number_column("at the source", "source_offset"),
        number_column("translated to", "target_offset"),
        TableColumn("exact", lambda row: _number(row["exact_offset"]), right=True),
        TableColumn("reads again", lambda row: count_cell(row["again"] or 0), right=True),
        TableColumn("skips", lambda row: count_cell(row["skipped"] or 0, "bad"), right=True),
    ]


def _count(title: str, field: str, style: str = "", rank: int = 0) -> TableColumn:
    return TableColumn(title, lambda row: count_cell(row[field], style), rank=rank, right=True)


def _delay(part: str) -> TableColumn:
    return TableColumn(
        part,
        lambda row: Cell("" if row["delay_ns"] is None else duration(row["delay_ns"][part])),
        right=True,
    )


def _number(value: int | None) -> Cell:
    return Cell("not known", "dim") if value is None else Cell(str(value))
