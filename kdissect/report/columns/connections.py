"""The columns of connection tables."""

from typing import Any

from kdissect.model.wording import plural, runs_text
from kdissect.report.cells import Cell, TableColumn, name_column, number_column, software_column, text_column
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Row = dict[str, Any]
# By the field of the row: one of them, and several.
_HEALTH = {
    "gaps": ("gap", "gaps"),
    "retransmissions": ("retransmission", "retransmissions"),
    "out_of_order": ("out of order", "out of order"),
    "duplicates": ("duplicate", "duplicates"),
    "zero_windows": ("zero window", "zero windows"),
    "resets": ("reset", "resets"),
}


def connection_columns() -> list[TableColumn]:
    """Return endpoints, who the client is, how long, how much, how well."""
    return [
        number_column("#", "number", 3, 4, style="dim"),
        TableColumn("start", lambda row: Cell(row["start"][11:26]), 15, 3),
        TableColumn("client", _client, 15),
        TableColumn("broker", _broker, 15),
        TableColumn("kind", _kind, 5),
        name_column("client id", "client_id", rank=1),
        software_column(),
        TableColumn("principal", _principal, rank=2),
        TableColumn("duration", lambda row: Cell(duration(row["duration_ns"])), 9, 2, right=True),
        TableColumn("exchanges", _exchanges, rank=1, right=True),
        TableColumn("sent", lambda row: _number(row["client_bytes"]), 8, 3, right=True),
        TableColumn("received", lambda row: _number(row["broker_bytes"]), rank=3, right=True),
        TableColumn("closed", _closed, 11, 1),
        TableColumn("rtt", _round_trip, 7, 2, right=True),
        TableColumn("near", lambda row: Cell(row["captured_near"] or "", "dim"), rank=3),
        TableColumn("tcp", _health, 6),
    ]


def _client(row: Row) -> Cell:
    proxied = row.get("client_proxied")
    return Cell(row["client"] if proxied is None else f"{row['client']} for {proxied}")


def _broker(row: Row) -> Cell:
    cluster = row.get("cluster")
    return Cell(row["broker"] if cluster is None else f"{row['broker']} of {printable(cluster)}")


def _kind(row: Row) -> Cell:
    return Cell(row["kind"], "name" if row["kind"] == "kafka" else "dim")


def _principal(row: Row) -> Cell:
    parts = [part for part in (row["principal"], row["mechanism"]) if part]
    return Cell(printable(" ".join(parts)))


def _exchanges(row: Row) -> Cell:
    unanswered = row["unanswered"]
    return Cell(f"{row['exchanges']}{f' ({unanswered} unanswered)' if unanswered else ''}")


def _number(value: int | None) -> Cell:
    return Cell("" if value is None else str(value))


def _closed(row: Row) -> Cell:
    closed = row["closed"]
    if closed is None or closed["how"] == "capture_end":
        return Cell("open", "dim")
    by = f"{closed['by']} " if closed["by"] else ""
    return Cell(f"{by}{closed['how']}", "odd" if closed["how"] != "fin" else "")


def _round_trip(row: Row) -> Cell:
    return Cell("" if row["rtt_ns"] is None else duration(row["rtt_ns"]))


def _health(row: Row) -> Cell:
    troubles = [plural(row[name], *words) for name, words in _HEALTH.items() if row[name]]
    if row["delayed_ns"]:
        troubles.append(f"delayed {duration(row['delayed_ns'])}")
    return Cell(", ".join(troubles) or "ok", "odd" if troubles else "dim")


def problem_columns() -> list[TableColumn]:
    """Return the columns of failed connections: both ends, the reason, and the packets that show it."""
    return [
        number_column("#", "number", 3, 4, style="dim"),
        TableColumn("start", lambda row: Cell(row["start"][11:26]), 15, 3),
        TableColumn("duration", lambda row: Cell(duration(row["duration_ns"])), 9, 2, right=True),
        TableColumn("client", lambda row: Cell(row["client"]), 15),
        name_column("client id", "client_id", rank=1),
        TableColumn("broker", lambda row: Cell(row["broker"]), 15),
        TableColumn("reason", lambda row: Cell(row["reason"], "odd" if row["kafka"] else "")),
        TableColumn("packets", lambda row: Cell(runs_text(row["packets"])), rank=1),
        text_column("", "sentence"),
    ]
