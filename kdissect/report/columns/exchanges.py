"""The columns of exchange tables."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, number_column, text_column
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Row = dict[str, Any]


def exchange_columns() -> list[TableColumn]:
    """Return the default columns."""
    return [
        number_column("#", "number", 5, 4, style="dim"),
        TableColumn("time", _time, 15, value="request.clock"),
        TableColumn("client", lambda row: Cell(row["client"]), 15, value="client"),
        TableColumn("broker", lambda row: Cell(row["broker"]), 15, 3, value="broker"),
        text_column("client id", "client_id", rank=2, style="dim"),
        TableColumn("api", api_cell, 20, value="api"),
        TableColumn("req", lambda row: _bytes(row["request"]), 6, 4, right=True, value="request.bytes"),
        TableColumn("resp", lambda row: _bytes(row["response"]), 7, 4, right=True, value="response.bytes"),
        TableColumn("latency", _latency, 9, 1, right=True, value="latency"),
        TableColumn("outcome", outcome, 20, value="errors"),
        TableColumn("topics", _topics, 10, 1, value="topics"),
    ]


def _time(row: Row) -> Cell:
    frame = row["request"] or row["response"]
    return Cell(frame["time"][11:26])  # HH:MM:SS.microseconds of RFC 3339


def api_cell(row: Row) -> Cell:
    """`Fetch v12`."""
    if row["api_key"] is None:
        return Cell("SASL token" if row["kind"] == "sasl_token" else "unknown", "dim")
    return Cell(f"{row['api'] or 'key ' + str(row['api_key'])} v{row['api_version']}", "name")


def _bytes(frame: Row | None) -> Cell:
    return Cell("" if frame is None else str(frame["bytes"]))


def _latency(row: Row) -> Cell:
    latency = row["latency_ns"]
    return Cell("" if latency is None else duration(latency))


def outcome(row: Row) -> Cell:
    """Return the result: error codes, `ok`, or why there is no response, with the kinds of anomalies in
    brackets.
    """
    kinds = ", ".join(dict.fromkeys(anomaly["kind"] for anomaly in row["anomalies"]))
    behind = f" ({kinds})" if kinds else ""
    if row["errors"]:
        return Cell(", ".join(row["errors"]) + behind, "bad")
    if row["state"] == "complete":
        return Cell(f"ok{behind}", "odd" if kinds else "good")
    if row["state"] == "no_response_expected":
        return Cell(f"no response expected{behind}", "odd" if kinds else "dim")
    if row["state"] == "unanswered":
        return Cell(_unanswered(row["closed"]) + behind, "bad")
    return Cell(f"orphan response{behind}", "odd")


def _unanswered(closed: Row | None) -> str:
    if closed is None:
        return "unanswered"
    if closed["by"] is None:
        return f"unanswered, {closed['how'].replace('_', ' ')}"
    return f"unanswered, {closed['by']} {closed['how']} after {duration(closed['after_ns'])}"


def _topics(row: Row) -> Cell:
    return Cell(printable(", ".join(row["topics"] or row["topic_ids"])))
