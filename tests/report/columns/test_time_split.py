"""Means of the time split: empty where there is no time or no exchange to share it."""

from typing import Any

import pytest

from kdissect.report.columns.time_split import split_columns, vantage_lines
from kdissect.stats.times.time_split import PARTS, PHASES

NO_TIME: dict[str, Any] = {"api": "Fetch", "exchanges": 0, "pauses": 0, "time_ns": 0, "client_ns": 0}
NO_TIME |= {f"{part}_ns": 0 for part in PARTS} | {f"{name}_ns": None for name in PHASES} | {"logged": 0}
MS = 1_000_000


def cells(**changed: Any) -> dict[str, str]:
    """Return what a row shows, without empty cells."""
    columns = split_columns(["api"], is_logged=True)
    shown = {column.title: column.cell(NO_TIME | changed).text for column in columns}
    return {title: text for title, text in shown.items() if text}


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({}, {"api": "Fetch", "exchanges": "0"}),
        ({"exchanges": 4}, {"api": "Fetch", "exchanges": "4", "time": "0 us"}),
        (
            {"exchanges": 4, "time_ns": 8 * MS, "broker_ns": 4 * MS},
            {"api": "Fetch", "exchanges": "4", "time": "2.00 ms", "broker": "1.00 ms"},
        ),
        (
            {"exchanges": 4, "time_ns": 8 * MS, "broker_ns": 8 * MS, "logged": 2, "broker_queue_ns": 6 * MS},
            {
                "api": "Fetch",
                "exchanges": "4",
                "time": "2.00 ms",
                "broker": "2.00 ms",
                "request queue": "3.00 ms",
            },
        ),
        (
            {"exchanges": 4, "pauses": 3, "client_ns": 9 * MS},
            {"api": "Fetch", "exchanges": "4", "time": "0 us", "client before": "3.00 ms"},
        ),
    ],
)
def test_means(changed: dict[str, Any], shown: dict[str, str]) -> None:
    assert cells(**changed) == shown


def test_vantage() -> None:
    facts = {"captured_near": {"client": 2, "broker": 1, "both": 0}, "round_trips": {}}
    assert list(vantage_lines(facts)) == [
        "captured: near the client (2 connections), near the broker (1 connection)"
    ]
