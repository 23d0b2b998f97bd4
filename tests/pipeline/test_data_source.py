"""`spark.read.format("kdissect")`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.single import by_one_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.exhaustive

CAPTURE = CHECKOUT / "captures" / "mock_rdk216_txn.pcap"


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> SparkSession:
    """Spark that knows the source."""
    from kdissect.pipeline import KdissectDataSource

    spark.dataSource.register(KdissectDataSource)
    return spark


def _load(spark: SparkSession, path: Path | list[Path], table: str, **options: str) -> DataFrame:
    paths = [str(one) for one in path] if isinstance(path, list) else str(path)
    return spark.read.format("kdissect").options(table=table, **options).load(paths)


def test_exchanges_of_rotated_files_are_those_of_one_process(source: SparkSession, rotated: Path) -> None:
    one = by_one_process([rotated])
    for shards in ("1", "3"):
        rows = _load(source, rotated, "exchanges", shards=shards).collect()
        assert {(row.connection, row.exchange): row.latency_ns for row in rows} == {
            identity: row["latency_ns"] for identity, row in one.exchanges.items()
        }


def test_filters_are_applied_before_rows_reach_spark(source: SparkSession) -> None:
    frame = _load(source, CAPTURE, "exchanges")
    produce = frame.where((frame.api == "Produce") & (frame.request["bytes"] > 100))
    plan = produce._jdf.queryExecution().toString() if hasattr(produce, "_jdf") else ""
    assert "Filter (" not in plan.split("== Physical Plan ==")[-1]
    want = [row for row in by_one_process([CAPTURE]).exchanges.values() if row["api"] == "Produce"]
    assert produce.count() == sum(row["request"]["bytes"] > 100 for row in want) > 0


def test_packets_segments_and_files(source: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_bytes(b"some text")
    paths = [CAPTURE, tmp_path / "text.pcap"]
    packets = _load(source, paths, "packets")
    files = {Path(row.file).name: row for row in _load(source, paths, "files").collect()}
    assert files["text.pcap"].error == "not a capture, but text"
    assert packets.count() == files[CAPTURE.name].packets > 0
    segments = _load(source, paths, "segments")
    assert segments.where(segments.file == str(CAPTURE)).count() == segments.count() > 0


def test_captures_behind_a_url_are_read_by_tasks(source: SparkSession, rotated: Path) -> None:
    def latencies(place: str) -> dict[tuple[str, int], int | None]:
        frame = source.read.format("kdissect").options(table="exchanges", shards="2").load(place)
        return {(row.connection, row.exchange): row.latency_ns for row in frame.collect()}

    assert len(latencies(str(rotated))) > 0
    assert latencies(rotated.as_uri()) == latencies(str(rotated))


def test_an_unknown_table_is_refused_with_the_names_of_those_there_are(source: SparkSession) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="exchanges"):
        _load(source, CAPTURE, "exchange").schema  # noqa: B018


def test_records_with_schemas(source: SparkSession) -> None:
    folder = CHECKOUT / "captures" / "schemas"
    rows = _load(source, folder / "schemas.pcap", "records", schemas=str(folder / "registry")).collect()
    decoded = {row.value_schema for row in rows if row.decoded is not None}
    assert decoded >= {"orders-value v1", "visits-value v1", "users-value v1"}


def test_findings_with_schemas(source: SparkSession) -> None:
    folder = CHECKOUT / "captures" / "schemas"
    rows = _load(source, folder / "schemas.pcap", "findings", schemas=str(folder / "registry")).collect()
    assert {row.code for row in rows} >= {"SCH001", "SCH002", "SCH004"}
