"""The columns of record tables."""

from binascii import a2b_base64
from typing import Any

from kdissect.report.cells import Cell, TableColumn, cell, number_column
from kdissect.report.printable import printable

Row = dict[str, Any]


def record_columns(with_schemas: bool = False) -> list[TableColumn]:
    """Return the columns of a record's exchange, place and content, with the schema of its value on
    demand.
    """
    schema = [TableColumn("schema", _schema, rank=2)] if with_schemas else []
    return [
        number_column("#", "number", 5, 4, style="dim"),
        TableColumn("time", lambda row: Cell(row["time"][11:26]), 15, 3),
        TableColumn("direction", lambda row: Cell(row["direction"], "name"), rank=1),
        TableColumn("topic", _topic, 8),
        TableColumn("part", lambda row: Cell(cell(row["partition"])), right=True),
        number_column("offset", "offset"),
        TableColumn("raw", _raw_offset, right=True, rank=5),
        TableColumn("timestamp (UTC)", _timestamp, 23, 2),
        TableColumn("codec", lambda row: Cell(row["codec"], "dim"), rank=4),
        TableColumn("producer", _producer, rank=3, right=True),
        TableColumn("key", lambda row: _content(row, "key"), 8),
        TableColumn("headers", _headers, rank=2),
        *schema,
        TableColumn("value", _value, 10),
    ]


def _topic(row: Row) -> Cell:
    return Cell(printable(row["topic"] or row["topic_id"] or ""))


def _raw_offset(row: Row) -> Cell:
    """Return the offset in the bytes, where the log has another one."""
    raw = row.get("raw_offset")
    return Cell("" if raw is None or raw == row["offset"] else str(raw), "dim")


def _timestamp(row: Row) -> Cell:
    timestamp = row["timestamp"]
    return Cell("" if timestamp is None else timestamp[:23].replace("T", " "), "dim")


def _producer(row: Row) -> Cell:
    if row["producer_id"] is None:
        return Cell("")
    sequence = "" if row["sequence"] is None else f"/{row['sequence']}"
    return Cell(f"{row['producer_id']}:{row['producer_epoch']}{sequence}", "dim")


def _content(row: Row, part: str) -> Cell:
    value = row[part]
    return Cell("null", "dim") if value is None else Cell(_text(value))


def _schema(row: Row) -> Cell:
    """Return the id of the value's schema, with a question mark if it is a guess."""
    found = row.get("value_schema_id") or row.get("value_schema_guid")
    if found is None:
        return Cell("")
    from kdissect.serdes.schema_ids import GUESS  # start-up: few values have ids

    return Cell(f"{found}?" if row["value_wire_format"].startswith(GUESS) else str(found), "dim")


def _headers(row: Row) -> Cell:
    pairs = [f"{header['key']}={_text(header['value'])}" for header in row["headers"]]
    return Cell(printable(" ".join(pairs)))


def _value(row: Row) -> Cell:
    bad = "" if row["crc_ok"] else "bad CRC  "
    style = "bad" if bad else ""
    bad += _delivery(row)
    if row["control"] is not None:
        return Cell(f"{bad}{row['control']}", style or "odd")
    if row.get("value_error") is not None:
        return Cell(printable(f"{bad}not decoded: {row['value_error']}"), "bad")
    decoded = (row.get("decoded") or {}).get("value")
    shown = Cell(_text(decoded)) if decoded is not None else _content(row, "value")
    return Cell(bad + shown.text, style or shown.style)


def _delivery(row: Row) -> str:
    """Return the share group's action on a record, unless it is a first delivery."""
    if row.get("acquired") is False:
        return "not acquired  "
    count = row.get("delivery_count")
    return f"delivery {count}  " if count and count > 1 else ""


def _text(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"base64"}:
        return a2b_base64(value["base64"]).hex(" ")
    return cell(value)
