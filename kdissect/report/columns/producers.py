"""The tables of producers: ids, transactions, what happened to them."""

from typing import Any

from kdissect.report.cells import (
    NAME_WIDTH,
    Cell,
    TableColumn,
    cluster_column,
    counts_text,
    name_column,
    number_column,
    text_column,
    time_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
_OUTCOMES = {"committed": "good", "aborted": "odd", "fenced": "bad", "expired": "bad"}
_PARTITIONS_SHOWN = 4


def transaction_rows(facts: Facts) -> list[Facts]:
    """Return the transactions of all transactional ids."""
    return [
        transaction | {name: row[name] for name in ("cluster", "transactional_id") if name in row}
        for row in facts["transactional_ids"]
        for transaction in row["transactions"]
    ]


def event_rows(facts: Facts) -> list[Facts]:
    """Return events, with equal events folded into the first of them."""
    rows = [
        event | {"who": str(row[name])}
        for name, field in (("producer_id", "producers"), ("transactional_id", "transactional_ids"))
        for row in facts[field]
        for event in row["events"]
    ]
    folded: dict[tuple[str, ...], Facts] = {}
    for row in sorted(rows, key=lambda row: (row["time_ns"], row["who"])):
        key = tuple(row[name] for name in ("who", "what", "where", "expected", "seen", "detail"))
        first = folded.setdefault(key, row | {"times": 0})
        first["times"] += 1
    return list(folded.values())


def producer_columns() -> list[TableColumn]:
    """Return the columns of producers and the results of their batches."""
    return [
        number_column("producer", "producer_id"),
        cluster_column(),
        number_column("epoch", "epoch"),
        text_column("transactional id", "transactional_id"),
        TableColumn(
            "client id", lambda row: Cell(printable(", ".join(row["client_ids"]))), readable=NAME_WIDTH
        ),
        number_column("batches", "batches", rank=1),
        number_column("records", "records"),
        TableColumn("partitions", lambda row: Cell(str(len(row["partitions"]) or "")), rank=2, right=True),
        _trouble("retries"),
        _trouble("duplicates"),
        _trouble("sequence jumps", "sequence_jumps"),
        TableColumn("refused", lambda row: Cell(counts_text(row["errors"]), "bad")),
        TableColumn(
            "", lambda row: Cell("" if row["given_in_capture"] else "id given before", "dim"), rank=2
        ),
    ]


def transaction_columns() -> list[TableColumn]:
    """Return how each went."""
    return [
        text_column("transactional id", "transactional_id"),
        cluster_column(),
        number_column("producer", "producer_id"),
        number_column("epoch", "epoch"),
        time_column("began", "began", without="before"),
        TableColumn(
            "took", lambda row: Cell("" if row["took_ns"] is None else duration(row["took_ns"])), right=True
        ),
        TableColumn("outcome", lambda row: Cell(row["outcome"], _OUTCOMES.get(row["outcome"], ""))),
        number_column("records", "records"),
        TableColumn("partitions", lambda row: Cell(_some(row["partitions"]))),
        TableColumn("offsets of", lambda row: Cell(printable(", ".join(row["groups"])))),
        TableColumn("markers", _markers),
    ]


def event_columns() -> list[TableColumn]:
    """Return the columns of unusual events."""
    return [
        time_column("time", "time"),
        text_column("who", "who"),
        TableColumn("what", lambda row: Cell(row["what"].replace("_", " "), "odd")),
        text_column("where", "where"),
        text_column("expected", "expected"),
        text_column("seen", "seen"),
        text_column("detail", "detail"),
        number_column("times", "times"),
        TableColumn("first exchange", lambda row: Cell(row["exchange"], "dim"), rank=2),
    ]


def without_id_columns() -> list[TableColumn]:
    """Return the columns of clients that write without a producer id."""
    return [name_column("client id", "client_id"), number_column("batches", "batches")]


def _trouble(title: str, field: str | None = None) -> TableColumn:
    return TableColumn(title, lambda row: Cell(str(row[field or title] or ""), "odd"), right=True)


def _some(places: list[str]) -> str:
    more = f" and {len(places) - _PARTITIONS_SHOWN} more" if len(places) > _PARTITIONS_SHOWN else ""
    return printable(", ".join(places[:_PARTITIONS_SHOWN]) + more)


def _markers(row: Facts) -> Cell:
    return Cell(f"{row['markers']} {row['marked']}" if row["markers"] else "")
