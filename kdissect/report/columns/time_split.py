"""The table of `kdissect stats --split`, and what it says of where the capture stands."""

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.cells import Cell, TableColumn, number_column
from kdissect.report.columns.traffic import dimension_column
from kdissect.report.quantities import duration
from kdissect.stats.times.time_split import PARTS, PHASES

Facts = dict[str, Any]
_TITLES = {"in_line": "in line", "unclear": "broker or wait", "unknown": "network or broker"}
_PHASE_TITLES = {"broker_queue": "request queue", "broker_response_queue": "response queue"}
_NEAR = {
    "client": "near the client",
    "broker": "near the broker",
    "between": "between both",
    "both": "where both ends are one host",
    "not_known": "not attributable",
}
_TRIPS = {
    "handshake": "known from the handshake",
    "at_most": "from later acknowledgments, which may have waited",
    "not_known": "not known",
}


def split_columns(by: Sequence[str], *, is_logged: bool) -> list[TableColumn]:
    """Return the dimensions, then means: of an exchange, of each part, of each phase at the broker if a
    request log has some, and of the client's time before one.
    """
    phases = PHASES if is_logged else ()
    return [
        *(dimension_column(name) for name in by),
        number_column("exchanges", "exchanges"),
        _mean("time", "time_ns", "exchanges"),
        *(_mean(_TITLES.get(part, part), f"{part}_ns", "exchanges") for part in PARTS),
        *(
            _mean(_PHASE_TITLES.get(name, name.removeprefix("broker_")), f"{name}_ns", "logged")
            for name in phases
        ),
        _mean("client before", "client_ns", "pauses"),
    ]


def vantage_lines(facts: Facts) -> Iterator[str]:
    """From which side it was captured, and how the round trips are known."""
    for title, words, counts in (
        ("captured", _NEAR, facts["captured_near"]),
        ("round trips", _TRIPS, facts["round_trips"]),
    ):
        parts = [
            f"{words[name]} ({plural(counts[name], 'connection')})" for name in words if counts.get(name)
        ]
        if parts:
            yield f"{title}: {', '.join(parts)}"


def _mean(title: str, field: str, of: str) -> TableColumn:
    def cell(row: Facts) -> Cell:
        count, took_ns = row[of], row[field]
        return Cell(duration(took_ns // count) if count and (took_ns or field == "time_ns") else "")

    return TableColumn(title, cell, right=True)
