"""Filters as Arrow expressions: said where Arrow means the same, left to Spark otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs the extra spark")

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    In,
    IsNull,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.spark_source.data_source import can_say, expression, file_test

SCHEMA = arrow_schema(TABLES["exchanges"])
NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"api": "Fetch", "latency_ns": 5, "time": NOON, "day": date(2025, 6, 1), "request": {"bytes": 70}},
    {"api": "Produce", "latency_ns": None, "time": NOON.replace(hour=13), "request": None},
    {"api": None, "latency_ns": 9, "time": None, "request": {"bytes": 50}},
]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (EqualTo(("api",), "Fetch"), [0]),
        (In(("api",), ("Fetch", "Produce")), [0, 1]),
        (Not(EqualTo(("api",), "Fetch")), [1]),  # null is neither, as in SQL
        (GreaterThan(("latency_ns",), 5), [2]),
        (LessThanOrEqual(("request", "bytes"), 60), [2]),
        (IsNull(("api",)), [2]),
        (Not(IsNull(("latency_ns",))), [0, 2]),
        (StringStartsWith(("api",), "Pro"), [1]),
        (GreaterThan(("time",), NOON), [1]),
        (EqualTo(("day",), date(2025, 6, 1)), [0]),
    ],
)
def test_what_is_said_keeps_the_rows_sql_keeps(found: Filter, kept: list[int]) -> None:
    batch = pa.RecordBatch.from_pylist(ROWS, schema=SCHEMA)
    assert can_say(found, SCHEMA)
    assert batch.filter(expression(found)).to_pylist() == batch.take(kept).to_pylist()


@pytest.mark.parametrize(
    "found",
    [
        EqualNullSafe(("api",), None),
        EqualTo(("topics",), ("orders",)),
        GreaterThan(("api",), 5),
        EqualTo(("nothing",), 1),
        Not(EqualNullSafe(("api",), "Fetch")),
    ],
)
def test_what_arrow_cannot_say_is_left_to_spark(found: Filter) -> None:
    assert not can_say(found, SCHEMA)


def test_files_are_left_out_by_what_all_their_rows_have() -> None:
    keeps = file_test(
        [In(("capture_set",), ("a", "b")), EqualTo(("file",), "x.pcap"), EqualTo(("api",), "Fetch")]
    )
    assert keeps({"capture_set": "a", "file": "x.pcap"})
    assert not keeps({"capture_set": "a", "file": "y.pcap"})
    assert not keeps({"capture_set": "c", "file": "x.pcap"})
    assert keeps({"capture_set": "b"})
