"""The facts of `kdissect topics` as tables."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from kdissect.cli.formats.blind_spots_text import blind_spots_lines
from kdissect.cli.formats.quantities import byte_count
from kdissect.cli.formats.statistic_cells import count_cell, counts_text
from kdissect.cli.formats.table import Cell, TableColumn
from kdissect.cli.output import Output
from kdissect.cli.printable import printable
from kdissect.cli.tables import Tables

Facts = dict[str, Any]
_VERBS = {"write": "writes", "read": "reads", "share": "reads (share)", "follow": "replicates"}


def topic_text(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the table of topics, who uses them, and what was not seen."""
    tables = Tables(options, output)
    topics = facts["topics"]
    tables.table(_topic_columns(), topics)
    users = list(_users(topics))
    if users:
        tables.heading("who")
        tables.table(_user_columns(), users)
    unseen = list(blind_spots_lines(facts["not_seen"]))
    unseen += [
        f"  {_name(topic)}: the leaders of {topic['leaders_not_captured']} partitions"
        for topic in topics
        if topic["leaders_not_captured"]
    ]
    if unseen:
        tables.heading("what the capture does not show")
        for line in unseen:
            tables.line(line)


def _topic_columns() -> list[TableColumn]:
    return [
        TableColumn("topic", lambda row: Cell(_name(row))),
        TableColumn("partitions", _partitions, right=True),
        TableColumn("written", lambda row: _records(row["written"]), right=True),
        TableColumn("bytes", lambda row: Cell(byte_count(row["written"]["bytes"])), rank=2, right=True),
        TableColumn("read", lambda row: _records(row["read"]), right=True),
        TableColumn("bytes", lambda row: Cell(byte_count(row["read"]["bytes"])), rank=2, right=True),
        TableColumn("records a batch", lambda row: _spread(row["batch_records"], str), rank=3),
        TableColumn("batch size", lambda row: _spread(row["batch_bytes"], byte_count), rank=3),
        TableColumn("key", lambda row: _spread(row["key_bytes"], byte_count), rank=3),
        TableColumn("value", lambda row: _spread(row["value_bytes"], byte_count), rank=3),
        TableColumn("codecs", lambda row: Cell(counts_text(row["codecs"])), rank=2),
        TableColumn(
            "denied", lambda row: count_cell(sum(d["attempts"] for d in row["denied"]), "bad"), right=True
        ),
    ]


def _user_columns() -> list[TableColumn]:
    return [
        TableColumn("topic", lambda row: Cell(_name(row["of"]))),
        TableColumn("does", lambda row: Cell(row["does"], "bad" if row["does"] == "denied" else "")),
        TableColumn("principal", lambda row: Cell(printable(row["principal"] or ""))),
        TableColumn("client id", lambda row: Cell(printable(row["client_id"] or ""))),
        TableColumn("group", lambda row: Cell(printable(", ".join(row.get("groups", ()))))),
        TableColumn("software", lambda row: Cell(printable(row["software"] or "")), rank=2),
        TableColumn("address", lambda row: Cell(printable(row["address"])), rank=1),
        TableColumn("requests", lambda row: Cell(str(row["requests"])), rank=2, right=True),
        TableColumn("records", _user_records, right=True),
        TableColumn(
            "bytes", lambda row: Cell(byte_count(row["bytes"]) if row.get("bytes") else ""), right=True
        ),
        TableColumn("errors", lambda row: Cell(counts_text(row.get("errors", {})), "bad")),
    ]


def _users(topics: list[Facts]) -> Iterator[Facts]:
    for topic in topics:
        for user in (*topic["writers"], *topic["readers"]):
            yield user | {"of": topic, "does": _VERBS[user["role"]]}
        for denied in topic["denied"]:
            counts = {"requests": denied["attempts"], "errors": {denied["api"]: denied["attempts"]}}
            yield denied | counts | {"of": topic, "does": "denied"}


def _name(topic: Facts) -> str:
    return printable(topic["topic"] or topic["topic_id"] or "")


def _partitions(row: Facts) -> Cell:
    seen, total = len(row["partitions"]), row["partition_count"]
    return Cell(f"{seen} of {total}" if total and total != seen else str(seen or total or ""))


def _records(use: Facts) -> Cell:
    if not use["requests"]:
        return Cell("")
    if use["uncounted"]:  # compressed messages of old formats: --sizes counts them
        return Cell(f"more than {use['records']}")
    return Cell(str(use["records"]))


def _user_records(row: Facts) -> Cell:
    if "records" not in row:
        return Cell("")
    notes = [f"{row[name]} {name}" for name in ("unconfirmed", "refused") if row[name]]
    return Cell(_records(row).text + (f" ({', '.join(notes)})" if notes else ""))


def _spread(found: Facts | None, form: Any) -> Cell:
    if found is None:
        return Cell("")
    if found["min"] == found["max"]:
        return Cell(form(found["min"]))
    return Cell(f"{form(found['min'])} .. {form(found['p50'])} .. {form(found['max'])}")
