"""The table `fields`: columns by the names of the filter language, as `inspect -e` prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main

pytest.importorskip("pyarrow", reason="needs the extra arrow")

import pyarrow as pa
from pyarrow import dataset, parquet

from kdissect.pipeline.inputs import find
from kdissect.pipeline.job import Job, run
from kdissect.pipeline.sink.compaction import compact
from kdissect.pipeline.sink.readers import dataset_of
from kdissect.pipeline.table_files.commit import OutputDirectory
from kdissect.pipeline.task_setup import Setup
from tests.pipeline.frames import Frames
from tests.pipeline.sink.directories import directory_at

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("kafka44_franz_transactions.pcapng", "mock_rdk216_txn.pcap", "kafka28_java_admin.pcapng")
FIELDS = (
    "api", "request.acks", "topic", "latency", "rtt", "partition", "group", "throttle", "principal",
    "request.topic_data.partition_data.index", "response.responses.partition_responses.error_code",
    "request.transactional_id", "batch.codec", "batch.transactional", "anomalies.kind", "response.time",
    "request.topics.topic_id", "response.brokers.port",
)  # fmt: skip


def written(path: Path, place: Path, *options: str) -> list[dict[str, Any]]:
    command = ["tables", str(path), "--output", str(place), "--tables", "files", *options]
    assert main([*command, "--fields", ",".join(FIELDS)]) == 0
    found: list[dict[str, Any]] = dataset.dataset(place / "fields").to_table().to_pylist()
    return sorted(found, key=lambda row: row["event_order"])


def inside(row: dict[str, Any], name: str) -> Any:
    value: Any = row
    for part in name.split("."):
        value = None if value is None else value[part]
    return value


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_that_inspect_prints(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = written(CAPTURES / name, tmp_path / "out")
    capfd.readouterr()
    command = ["inspect", str(CAPTURES / name), "--format", "jsonl", "-e", "connection,exchange"]
    assert main([*command, "-e", ",".join(FIELDS)]) == 0
    told = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == len(told) > 0
    seen = set()
    for row, line in zip(rows, told, strict=True):
        assert (row["connection"], row["exchange"]) == (line["connection"], line["exchange"])
        for field in FIELDS:
            found, want = inside(row, field), line[field]
            if field == "response.time":
                found = found and f"{found:%Y-%m-%dT%H:%M:%S.%f}"
                want = want and want[:26]
            if found is None or want is None:
                found, want = found or [], want or []
            assert found == want, (field, line)
            seen |= {field} if want not in (None, []) else set()
    assert {"request.acks", "topic"} <= seen


def test_numbers_are_numbers_and_times_are_times(tmp_path: Path) -> None:
    written(CAPTURES / NAMES[0], tmp_path / "out")
    schema = dataset.dataset(tmp_path / "out" / "fields").schema
    request, response = schema.field("request").type, schema.field("response").type
    assert request.field("acks").type == pa.int64()
    assert response.field("time").type == pa.timestamp("us", "UTC")
    assert schema.field("partition").type == pa.list_(pa.int64())
    assert schema.field("topic").type == pa.list_(pa.string())
    assert schema.field("batch").type.field("transactional").type == pa.list_(pa.bool_())


@pytest.mark.exhaustive
@pytest.mark.parametrize("parts", [1, 5])
def test_tasks_of_a_run_write_the_same_rows(parts: int, tmp_path: Path) -> None:
    paths = [str(CAPTURES / name) for name in NAMES]
    fields = [path for path in FIELDS if path != "rtt"]
    command = ["tables", *paths, "--output", str(tmp_path / "one"), "--fields", ",".join(fields)]
    assert main(command) == 0
    inputs = find(paths)
    setup = Setup.of(inputs)._replace(fields=tuple(fields))
    job = Job(inputs, setup, str(tmp_path / "many"), frozenset({"fields"}), parts=parts)
    run(Frames(), job)  # type: ignore[arg-type]
    one, many = (
        sorted(
            dataset.dataset(tmp_path / name / "fields").to_table().to_pylist(),
            key=lambda row: (row["connection"], row["exchange"]),
        )
        for name in ("one", "many")
    )
    assert one == many
    assert len(one) > 0


def test_written_tables_are_looked_after_as_others_are(tmp_path: Path) -> None:
    before_rows = written(CAPTURES / NAMES[0], tmp_path / "one")
    before = written(CAPTURES / NAMES[0], tmp_path / "out", "--partition-by", "broker")
    directory = directory_at(tmp_path / "out", grace_s=0)
    assert OutputDirectory(directory.filesystem, directory.root).manifest() is not None
    compact(directory)
    found = dataset_of(str(tmp_path / "out"), "fields").to_table()
    assert found.num_rows == len(before)
    brokers = {row["broker"] for row in before_rows}
    assert set(found.column("broker").to_pylist()) == brokers


def test_a_parquet_file_of_inspect_has_these_types(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    names = "request.acks,partition,topic,batch.transactional,request.topic_data"
    assert main(["inspect", str(CAPTURES / NAMES[0]), "-e", names, "-o", str(out)]) == 0
    schema = parquet.read_schema(out)
    assert schema.names == names.split(",")
    assert schema.types == [
        pa.int64(), pa.list_(pa.int64()), pa.list_(pa.string()), pa.list_(pa.bool_()), pa.string()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("request.ackz", "did you mean"),
        ("number", "numbers of rows are in no table"),
        ("client,client.port", "client is a column, so that client.port cannot"),
    ],
)
def test_names_that_are_none_are_refused(
    fields: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["tables", "x.pcap", "--output", str(tmp_path), "--fields", fields]) == 2
    assert told in capfd.readouterr().err
