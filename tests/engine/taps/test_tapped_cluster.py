"""`kdissect tap` of a Java client and of its broker at one time: three connections are in both captures.

The producer of the shared topic wrote 244 records. The broker's capture holds all of its connections.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.console import run

_CAPTURES = Path(__file__).parent / "captures"
CLIENT = _CAPTURES / "tap_same_connections_client_real.pcapng.gz"
BROKER = _CAPTURES / "tap_same_connections_broker_real.pcapng.gz"
TOPIC_ID = "u93BKBJoQH2SJVr63CrcMw"
RECORDS = 244
# 971 of the broker's tap, and 4 at the ends of connections that only the client's tap has.
EXCHANGES = 975

orders = pytest.mark.parametrize("paths", [(CLIENT, BROKER), (BROKER, CLIENT)], ids=["client", "broker"])


def _json(*arguments: str | Path) -> Any:
    return json.loads(run(*arguments, "--format", "json").out)


def _rows(*arguments: str | Path) -> list[dict[str, Any]]:
    text = run(*arguments, "--format", "jsonl").out
    return [json.loads(line) for line in text.splitlines()]


@orders
def test_records_lists_each_record_once(paths: tuple[Path, Path]) -> None:
    rows = _rows("records", *paths)
    written = [
        row for row in rows if row["direction"] == "produce" and TOPIC_ID in (row["topic"], row["topic_id"])
    ]
    assert len(written) == RECORDS


@orders
def test_stats_counts_each_exchange_once(paths: tuple[Path, Path]) -> None:
    assert _json("stats", *paths)["total"]["exchanges"] == EXCHANGES


@orders
def test_topics_counts_each_record_once(paths: tuple[Path, Path]) -> None:
    (topic,) = [
        row for row in _json("topics", *paths)["topics"] if TOPIC_ID in (row["topic"], row.get("topic_id"))
    ]
    assert topic["written"]["records"] == RECORDS


@orders
def test_info_counts_once_and_names_the_copies(paths: tuple[Path, Path]) -> None:
    facts = _json("info", *paths)
    assert facts["exchanges"]["total"] == EXCHANGES
    assert facts["connections"]["total"] == 6
    assert facts["connections"]["copies"]["total"] == 3
    text = run("info", *paths).out
    (line,) = [line for line in text.splitlines() if line.startswith("copies  3 ")]
    (pair,) = facts["connections"]["copies"]["by_capture_set"]
    assert (pair["connections"], len(pair["examples"])) == (3, 3)
    for copy in pair["examples"]:
        assert f"{copy['connection']} -> {copy['same_as']}" in line


@orders
def test_connections_name_the_one_that_is_read(paths: tuple[Path, Path]) -> None:
    ran = run("connections", *paths, "--format", "jsonl")
    rows = {row["connection"]: row for row in map(json.loads, ran.out.splitlines())}
    copies = [row for row in rows.values() if row["same_as"] is not None]
    assert len(copies) == 3
    for row in copies:
        read = rows[row["same_as"]]
        assert (row["client"], row["broker"]) == (read["client"], read["broker"])
        assert row["capture_set"] != read["capture_set"]
        assert f"{row['connection']} -> {row['same_as']}" in ran.err


def test_tables_count_each_exchange_once(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out"
    ran = run("tables", CLIENT, BROKER, "--tables", "exchanges", "-o", out)
    assert ran.code == 0
    rows = parquet.read_table(out / "exchanges").to_pylist()
    counts = Counter(row["same_as"] is None for row in rows)
    assert counts[True] == EXCHANGES
    assert counts[False] > 0
