"""`pipeline run --engine`: who makes the tables."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs the extra spark")

from kdissect.cli import main
from kdissect.cli.parquet_tables import pipeline_run
from kdissect.cli.parquet_tables.pipeline_run import AUTO_BYTES, takes_local_engine
from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.inputs import IS_JOINED, Inputs, find
from kdissect.pipeline.spark_session import LOCAL
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import of_one_process, of_run

CAPTURE = CHECKOUT / "captures" / "mock_rdk216_txn.pcap"


def options(**given: Any) -> Namespace:
    return Namespace(**({"engine": "auto", "master": LOCAL, "conf": [], "partitions": None} | given))


def inputs(size: int | None, error: str | None = None) -> Inputs:
    found = find([str(CAPTURE)])
    return found._replace(files=(found.files[0]._replace(size=size, error=error),))


def test_small_captures_are_for_this_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pipeline_run, "spark_session")
    text = tmp_path / "text.pcap"
    text.write_text("a note")
    out = tmp_path / "out"
    assert main(["pipeline", "run", str(CAPTURE), str(text), "--output", str(out)]) == 3
    printed = capfd.readouterr()
    assert printed.err.splitlines() == [
        "kdissect: 0.1 MB: by this process, which is done before Spark would have started (--engine spark)",
        f"kdissect: {text}: not a capture, but text",
    ]
    want = of_one_process([CAPTURE, text])
    tables = [line.split()[0] for line in printed.out.splitlines()]
    assert tables == [table for table in TABLES if table not in ("records", "causes", "stalls", "personal")]
    for table in tables:
        assert of_run(out, table) == want[table], table
    manifest = json.loads((out / "_kdissect.json").read_text())
    assert {Path(file["path"]).parts[0] for file in manifest["files"]} == set(tables)
    assert not any("/day=" in file["path"] for file in manifest["files"])  # as `tables` does
    assert main(["pipeline", "run", str(CAPTURE), "--output", str(out), "--engine", "local"]) == 2
    assert "there are tables already; --overwrite replaces them" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("given", "size", "is_local"),
    [
        ({}, AUTO_BYTES - 1, True),
        ({}, AUTO_BYTES, False),
        ({}, None, False),
        ({"master": "spark://host:7077"}, 1, False),
        ({"conf": [("spark.x", "1")]}, 1, False),
        ({"partitions": 3}, 1, False),
        ({"engine": "spark"}, 1, False),
        ({"engine": "local"}, 10 * AUTO_BYTES, True),
    ],
)
def test_who_makes_the_tables(given: dict[str, Any], size: int | None, *, is_local: bool) -> None:
    assert takes_local_engine(options(**given), inputs(size)) is is_local


def test_an_input_that_is_not_there_needs_no_spark_and_a_stream_is_left_to_it(tmp_path: Path) -> None:
    assert takes_local_engine(options(), inputs(None, "no such file"))
    assert not takes_local_engine(options(), inputs(None, pipeline_run.IS_STREAM))


def test_a_request_log_next_to_packets_is_left_to_one_process(tmp_path: Path) -> None:
    names = ("kafka39_java_admin.requests.log.gz", "kafka39_java_admin.pcapng")
    log, packets = (CHECKOUT / "captures" / name for name in names)
    found = find([str(log), str(packets)])
    assert {file.path: file.error for file in found.files} == {str(log): IS_JOINED, str(packets): None}
    assert takes_local_engine(options(), found)
    assert [file.error for file in find([str(log)]).files] == [None]


def test_options_of_spark_do_not_go_with_the_local_engine(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["pipeline", "run", str(CAPTURE), "--output", str(tmp_path / "out"), "--engine", "local"]
    assert main([*arguments, "--partitions", "2"]) == 2
    assert "--engine local runs without Spark" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()
