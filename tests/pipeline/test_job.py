"""A run on Spark: tables equal to those of one process, whatever is in the set of files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.inputs import find
from kdissect.pipeline.task_setup import Setup
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import of_one_process, of_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES = CHECKOUT / "captures"


@pytest.fixture(scope="module")
def odd(rotated: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Rotated files, and beside them what goes wrong with files."""
    folder = tmp_path_factory.mktemp("odd")
    good = (CAPTURES / "mock_rdk216_txn.pcap").read_bytes()
    made = {
        "empty.pcap": b"",
        "header_only.pcap": good[:24],
        "cut.pcap": good[: len(good) // 2],
        "corrupt.pcap": good[:5000] + b"\xff" * 64 + good[5064:],
        "text.pcap": b"no capture, but a note about one\n",
        "packed.pcap.gz": gzip.compress(good),
        "cut_packed.pcap.gz": gzip.compress(good)[:9000],
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)
    return [*sorted(rotated.iterdir()), *sorted(folder.iterdir()), folder / "missing.pcap"]


def test_one_capture(spark: SparkSession, tmp_path: Path) -> None:
    """The one test of the short run that starts Spark: some tables of a small capture."""
    from kdissect.pipeline.job import Job, run

    capture = CAPTURES / "mock_rdk216_txn.pcap"
    inputs = find([str(capture)])
    output = tmp_path / "tables"
    tables = frozenset({"connections", "exchanges", "findings"})
    assert not run(spark, Job(inputs, Setup.of(inputs), str(output), tables, parts=1)).unread
    one = of_one_process([capture])
    for table in sorted(tables):
        assert of_run(output, table) == one[table] != [], table

    (tmp_path / "text.pcap").write_bytes(b"no capture, but a note about one\n")
    bad = find([str(tmp_path / "text.pcap"), str(tmp_path / "missing.pcap")])
    failed = run(spark, Job(bad, Setup.of(bad), str(output), tables, parts=1, overwrite=True))
    assert len(failed.unread) == 2
    assert failed.files == ()
    assert of_run(output, "exchanges") == one["exchanges"]  # nothing takes the place of what is there


@pytest.mark.parametrize("cut", [False, True])
def test_what_could_not_be_read_is_told(cut: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from kdissect.cli.parquet_tables.pipeline_run import report_run
    from kdissect.pipeline.job import Summary, tally_of, unread_of

    source = CAPTURES / "kafka44_java_tls13.pcapng"
    path = tmp_path / "tls.pcapng"
    path.write_bytes(source.read_bytes()[: -30 if cut else None])
    tables = of_one_process([path])
    summary = Summary((), tuple(unread_of(tables["files"])), tally_of(tables["connections"]))
    assert report_run(summary) == (3 if cut else 0)
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 + cut
    assert told[-1].startswith("kdissect: warning: 15 of 30 connections are TLS without keys")
    assert not cut or "ends inside a block" in told[0]


@pytest.mark.exhaustive
def test_a_run_gives_the_tables_of_one_process(spark: SparkSession, odd: list[Path], tmp_path: Path) -> None:
    from kdissect.pipeline.job import Job, run
    from kdissect.pipeline.table_files.commit import OutputExistsError

    inputs = find([str(path) for path in odd])
    output = tmp_path / "tables"
    job = Job(inputs, Setup.of(inputs), str(output), frozenset(TABLES), ("day", "broker"), parts=3)
    summary = run(spark, job)

    unread = {Path(file.file).name: file.why for file in summary.unread}
    assert unread.keys() >= {"empty.pcap", "header_only.pcap", "corrupt.pcap", "text.pcap", "missing.pcap"}
    assert unread["text.pcap"] == "not a capture, but text"
    files = {Path(row["file"]).name: row for row in of_run(output, "files")}
    assert files.keys() == {path.name for path in odd}
    assert [found["kind"] for found in files["cut.pcap"]["anomalies"]] == ["cut_capture"]
    assert files["cut_packed.pcap.gz"]["error"] or files["cut_packed.pcap.gz"]["anomalies"]
    assert files["missing.pcap"]["packets"] == 0
    manifest = json.loads((output / "_kdissect.json").read_text())
    there = {str(path.relative_to(output)) for path in output.rglob("*.parquet")}
    assert there == {file["path"] for file in manifest["files"]}
    assert not (output / "_staging").exists()
    one = of_one_process(odd)
    for table in TABLES:
        assert of_run(output, table) == one[table], table

    with pytest.raises(OutputExistsError):
        run(spark, job)
    again = run(spark, job._replace(overwrite=True, parts=1, partition_by=()))
    assert _rows(again) == _rows(summary)
    assert len(list(output.rglob("exchanges/**/*.parquet"))) == 1
    for table in TABLES:
        assert of_run(output, table) == one[table], table


def _rows(summary: Any) -> dict[str, int]:
    return {table: rows for table, (_, rows, _) in summary.tables.items()}
