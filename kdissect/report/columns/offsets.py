"""The tables of offsets: jumps, odd commits, held offsets, records written twice, gaps."""

from typing import Any

from kdissect.report.cells import (
    Cell,
    TableColumn,
    cluster_column,
    dated,
    name_column,
    number_column,
    text_column,
    time_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
_EXCHANGE = TableColumn("exchange", lambda row: Cell(row["exchange"], "dim"), rank=2)


def position_columns() -> list[TableColumn]:
    """Return where a consumer went."""
    return [
        time_column("time", "time"),
        name_column("client id", "client_id"),
        text_column("address", "address", rank=2),
        cluster_column(),
        text_column("topic", "topic"),
        number_column("partition", "partition"),
        number_column("from", "before"),
        number_column("to", "after"),
        TableColumn("", lambda row: _way(row["before"], row["after"])),
        text_column("because", "because"),
        _EXCHANGE,
    ]


def commit_columns() -> list[TableColumn]:
    """Return the columns of a group's anomalous commits."""
    return [
        time_column("time", "time"),
        text_column("group", "group"),
        name_column("client id", "client_id"),
        cluster_column(),
        text_column("topic", "topic"),
        number_column("partition", "partition"),
        number_column("from", "before"),
        number_column("committed", "after"),
        text_column("what", "what", style="odd"),
        _EXCHANGE,
    ]


def held_columns() -> list[TableColumn]:
    """Return the columns of records that readers of committed records cannot reach, and their transaction."""
    return [
        time_column("time", "time"),
        cluster_column(),
        text_column("topic", "topic"),
        number_column("partition", "partition"),
        number_column("last stable offset", "last_stable_offset"),
        number_column("high watermark", "high_watermark"),
        TableColumn("held", lambda row: Cell(duration(row["held_ns"]), "bad"), right=True),
        TableColumn("until", _until, rank=1, moment="until"),
        text_column("transactional id", "transactional_id"),
        number_column("producer", "producer_id"),
        name_column("client id", "client_id"),
        TableColumn("waiting", lambda row: Cell(printable(", ".join(row["waiting"])))),
        _EXCHANGE,
    ]


def twice_columns() -> list[TableColumn]:
    """Return the same records at two offsets."""
    return [
        time_column("time", "time"),
        cluster_column(),
        text_column("topic", "topic"),
        number_column("partition", "partition"),
        number_column("records", "records"),
        TableColumn("offset", lambda row: Cell(str(row["again"]["offset"])), right=True),
        TableColumn("first at", lambda row: Cell(str(row["first"]["offset"])), right=True),
        TableColumn("by", lambda row: Cell(_writers(row))),
        TableColumn("differs", lambda row: Cell(row["differs"], "odd")),
        TableColumn("both read by", lambda row: Cell(printable(", ".join(row["read_by"])))),
        _EXCHANGE,
    ]


def gap_columns() -> list[TableColumn]:
    """Return offsets that have no records."""
    return [
        time_column("time", "time"),
        cluster_column(),
        text_column("topic", "topic"),
        number_column("partition", "partition"),
        number_column("from", "from"),
        number_column("to", "to"),
        number_column("offsets", "offsets"),
        text_column("seen by", "client_id"),
        _EXCHANGE,
    ]


def _until(row: Facts) -> Cell:
    """Return when it moved on, or the time from which brokers know no such topic."""
    if row["until"] is None:
        return Cell("the end of the capture")
    time = dated(row["until"])
    return Cell(time if row["moved"] else f"{time}: no such topic", "" if row["moved"] else "odd")


def _way(before: int, after: int) -> Cell:
    if after == before:
        return Cell("again", "odd")
    return Cell("back", "odd") if after < before else Cell("ahead", "bad")


def _writers(row: Facts) -> str:
    names = dict.fromkeys(row[side]["client_id"] or "-" for side in ("first", "again"))
    return printable(", ".join(names))
