"""The tables of topics: the topics, and who uses them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.report.cells import (
    NAME_WIDTH,
    Cell,
    TableColumn,
    cluster_column,
    count_cell,
    counts_text,
    name_column,
    number_column,
    software_column,
    text_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import byte_count

Facts = dict[str, Any]
NOT_KNOWN = "?"
"""In place of record counts that a request log does not have."""
_VERBS = {"write": "writes", "read": "reads", "share": "reads (share)", "follow": "replicates"}


def topic_columns(topics: Sequence[Facts]) -> list[TableColumn]:
    """Return how much goes through each of some topics, in what batches."""
    return [
        TableColumn("topic", lambda row: Cell(topic_name(row)), readable=NAME_WIDTH),
        _id_column(topics),
        cluster_column(),
        TableColumn("partitions", _partitions, right=True),
        TableColumn("written", lambda row: _records(row["written"]), right=True),
        TableColumn("bytes", lambda row: _used_bytes(row["written"]), rank=2, right=True),
        TableColumn("read", lambda row: _records(row["read"]), right=True),
        TableColumn("acquired", lambda row: _acquired(row["read"]), right=True),
        TableColumn("bytes", lambda row: _used_bytes(row["read"]), rank=2, right=True),
        TableColumn("records a batch", lambda row: _spread(row["batch_records"], str), rank=3),
        TableColumn("batch size", lambda row: _spread(row["batch_bytes"], byte_count), rank=3),
        TableColumn("key", lambda row: _spread(row["key_bytes"], byte_count), rank=3),
        TableColumn("value", lambda row: _spread(row["value_bytes"], byte_count), rank=3),
        TableColumn("codecs", lambda row: Cell(counts_text(row["codecs"])), rank=2),
        TableColumn(
            "denied", lambda row: count_cell(sum(d["attempts"] for d in row["denied"]), "bad"), right=True
        ),
    ]


def _id_column(topics: Sequence[Facts], of: str = "") -> TableColumn:
    """Return the ids of topics whose name another topic of the cluster has, too: one that was created
    again.
    """
    named = Counter((topic["topic"], topic.get("cluster")) for topic in topics)

    def cell(row: Facts) -> Cell:
        topic = row[of] if of else row
        is_shared = named[topic["topic"], topic.get("cluster")] > 1
        return Cell(topic["topic_id"] or "" if is_shared else "")

    return TableColumn("topic id", cell)


def user_columns(topics: Sequence[Facts]) -> list[TableColumn]:
    """Return the columns of clients that write to topics, read them, or were denied."""
    return [
        TableColumn("topic", lambda row: Cell(topic_name(row["of"]))),
        _id_column(topics, "of"),
        cluster_column("of"),
        TableColumn("does", lambda row: Cell(row["does"], "bad" if row["does"] == "denied" else "")),
        text_column("principal", "principal"),
        name_column("client id", "client_id"),
        TableColumn("group", lambda row: Cell(printable(", ".join(row.get("groups", ()))))),
        software_column(),
        text_column("address", "address", rank=1),
        number_column("requests", "requests", rank=2),
        TableColumn("records", _user_records, right=True),
        TableColumn("acquired", _acquired, right=True),
        TableColumn("bytes", lambda row: _bytes(row) if row.get("bytes", 0) != 0 else Cell(""), right=True),
        TableColumn("errors", lambda row: Cell(counts_text(row.get("errors", {})), "bad")),
    ]


def user_rows(topics: list[Facts]) -> Iterator[Facts]:
    """Yield users and the denied of all topics."""
    for topic in topics:
        for user in (*topic["writers"], *topic["readers"]):
            yield user | {"of": topic, "does": _VERBS[user["role"]]}
        for denied in topic["denied"]:
            counts = {"requests": denied["attempts"], "errors": {denied["api"]: denied["attempts"]}}
            yield denied | counts | {"of": topic, "does": "denied"}


def savings_columns(rows: Sequence[Facts]) -> list[TableColumn]:
    """Return the columns of the sizes that would remain."""
    return [
        TableColumn("topic", lambda row: Cell(topic_name(row))),
        _id_column(rows),
        cluster_column(),
        TableColumn("batches", _sampled, right=True),
        number_column("records", "records", rank=1),
        TableColumn("bytes", lambda row: Cell(byte_count(row["as_sent"]["bytes"])), right=True),
        TableColumn("zstd", lambda row: _left(row, "zstd"), right=True),
        TableColumn("larger batches", lambda row: _left(row, "larger"), right=True),
        TableColumn("both", lambda row: _left(row, "larger_zstd"), right=True),
    ]


def savings_rows(topics: list[Facts]) -> Iterator[Facts]:
    """Yield topics of which batches were sampled."""
    for topic in topics:
        if topic["savings"] is not None:
            named = {name: topic[name] for name in ("cluster", "topic", "topic_id") if name in topic}
            yield named | topic["savings"]


def topic_name(topic: Facts) -> str:
    """Return the name of a topic, its id where the name is unknown."""
    return printable(topic["topic"] or topic["topic_id"] or "")


def _partitions(row: Facts) -> Cell:
    seen, total = len(row["partitions"]), row["partition_count"]
    return Cell(f"{seen} of {total}" if total and total != seen else str(seen or total or ""))


def _records(use: Facts) -> Cell:
    if not use["requests"]:
        return Cell("")
    if use["records"] is None:
        return Cell(NOT_KNOWN, "dim")
    if use["uncounted"]:  # compressed messages of old formats: --sizes counts them
        return Cell(f"more than {use['records']}")
    return Cell(str(use["records"]))


def _bytes(use: Facts) -> Cell:
    return Cell(NOT_KNOWN, "dim") if use["bytes"] is None else Cell(byte_count(use["bytes"]))


def _used_bytes(use: Facts) -> Cell:
    """Return the bytes of a direction, nothing for a direction without requests."""
    return _bytes(use) if use["requests"] else Cell("")


def _acquired(use: Facts) -> Cell:
    """Return the number of records that share groups acquired."""
    found = use.get("acquired")
    if found is None:
        return Cell("")
    return Cell(f"more than {found}" if use["acquired_unknown"] else str(found))


def _user_records(row: Facts) -> Cell:
    if "records" not in row:
        return Cell("")
    notes = [f"{row[name]} {name}" for name in ("unconfirmed", "refused") if row[name]]
    return Cell(_records(row).text + (f" ({', '.join(notes)})" if notes else ""))


def _sampled(row: Facts) -> Cell:
    taken, seen = row["as_sent"]["batches"], row["of_batches"]
    return Cell(f"{taken} of {seen}" if row["is_sample"] else str(taken))


def _left(row: Facts, way: str) -> Cell:
    """Return bytes that would be left, and what that is less of a hundred."""
    sent, left = row["as_sent"]["bytes"], row[way]["bytes"]
    change = round(100 * (left - sent) / sent)
    return Cell(f"{byte_count(left)} ({change:+d}%)", "good" if change < 0 else "")


def _spread(found: Facts | None, form: Any) -> Cell:
    if found is None:
        return Cell("")
    if found["min"] == found["max"]:
        return Cell(form(found["min"]))
    return Cell(f"{form(found['min'])} .. {form(found['p50'])} .. {form(found['max'])}")
