"""`kdissect segments` against what kafka-dump-log prints, and over damaged files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS, place_of
from tests.support.console import CAPTURES
from tests.support.messages.batches import (
    batch_bytes,
    kafka_python_batch,
    kafka_python_messages,
    message_bytes,
    record_bytes,
)

DUMPS = sorted(
    dump for ending in ("log", "checkpoint") for dump in (CAPTURES / "logs").rglob(f"*.{ending}.dump.txt")
)
# What kafka-dump-log prints for fields of ours; -1 is our null.
BATCH = {
    "position": "position", "size": "bytes", "magic": "magic", "crc": "crc", "count": "count",
    "baseSequence": "base_sequence", "lastSequence": "last_sequence", "producerId": "producer_id",
    "producerEpoch": "producer_epoch", "partitionLeaderEpoch": "leader_epoch",
    "CreateTime": "max_timestamp_ms",
}  # fmt: skip
NOW = 1_700_000_000_000


def lines(capfd: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> list[dict[str, Any]]:
    assert main(["segments", *map(str, arguments), "--format", "jsonl"]) == code
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def told(line: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+): (\S+)", line.partition(" payload: ")[0]))


def number(value: str | None) -> int | None:
    return None if value in (None, "-1") else int(value)


def dumped(dump: Path) -> tuple[list[dict[str, str]], list[tuple[dict[str, str], str]]]:
    """Return batches and records of a dump; of a record its line too."""
    text = dump.read_text().splitlines()
    batches = [told(line) for line in text if line.startswith(("baseOffset:", "offset:"))]
    return batches, [(told(line), line) for line in text if line.startswith("| ")]


def topic_of(dump: Path) -> str:
    name = dump.parent.name.partition("_")[2].rpartition("-")[0]
    own = ("cluster_metadata", "consumer_offsets", "transaction_state", "share_group_state")
    return f"__{name}" if name in own else name


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: f"{dump.parent.name}/{dump.name}")
def test_batches_are_those_of_kafka_dump_log(dump: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = lines(capfd, str(dump).removesuffix(".dump.txt"))
    batches, _ = dumped(dump)
    assert len(rows) == len(batches)
    for row, theirs in zip(rows, batches, strict=True):
        assert (row["crc_ok"], row["faults"]) == (theirs["isvalid"] == "true", [])
        assert row["codec"] == theirs["compresscodec"].lower()
        assert row["last_offset"] == int(theirs.get("lastOffset", theirs.get("offset")))
        for name, ours in BATCH.items():
            if name in theirs:
                assert row[ours] == number(theirs[name]), name
        for name, ours in (("isTransactional", "transactional"), ("isControl", "control")):
            assert row[ours] == (theirs.get(name) == "true")
        horizon = re.findall(r"\d+", theirs.get("deleteHorizonMs", ""))
        assert row["delete_horizon_ms"] == (int(horizon[0]) if horizon else None)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: f"{dump.parent.name}/{dump.name}")
def test_records_are_those_of_kafka_dump_log(dump: Path, capfd: pytest.CaptureFixture[str]) -> None:
    topic = topic_of(dump)
    rows = lines(capfd, str(dump).removesuffix(".dump.txt"), "--records", "--topic", topic)
    _, records = dumped(dump)
    assert len(rows) == len(records)
    for row, (theirs, line) in zip(rows, records, strict=True):
        assert row["offset"] == int(theirs["offset"])
        assert row["key_bytes"] == number(theirs["keySize"])
        assert row["value_bytes"] == number(theirs["valueSize"])
        assert row["timestamp_ms"] == number(theirs.get("CreateTime"))
        assert row["sequence"] == number(theirs.get("sequence"))
        keys = re.search(r"headerKeys: \[([^]]*)\]", line)
        assert [header["key"] for header in row["headers"]] == (
            keys[1].split(",") if keys and keys[1] else []
        )
        check_content(row, theirs, line, topic)


def check_content(row: dict[str, Any], theirs: dict[str, str], line: str, topic: str) -> None:
    payload = line.partition(" payload: ")[2]
    if row["control"] in ("commit", "abort"):
        assert theirs["endTxnMarker"] == row["control"].upper()
        assert int(theirs["coordinatorEpoch"]) == row["decoded"]["value"]["value"]["coordinator_epoch"]
    elif row["control"]:
        assert json.loads(line[line.index("{") :]).keys() == camel(row["decoded"]["value"]["value"]).keys()
    elif not topic.startswith("__"):
        assert (theirs.get("key"), payload) == (row["key"], row["value"] or "")  # null is printed as nothing
    elif row["value"] is not None:
        assert row["decoded"]["value"].get("why") is None
        if payload.startswith("{") and topic == "__cluster_metadata":
            shown = json.loads(payload)
            name = row["decoded"]["value"]["payload"]
            assert shown["type"] == re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def camel(value: dict[str, Any]) -> dict[str, Any]:
    """With the names kafka-dump-log prints."""
    names = {"kraft_version": "kRaftVersion"}
    return {
        names.get(name) or re.sub(r"_(\w)", lambda match: match[1].upper(), name): each
        for name, each in value.items()
    }


def segment(tmp_path: Path, data: bytes, name: str = "00000000000000000000.log") -> Path:
    folder = tmp_path / "orders-3"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


BATCHES = [batch_bytes(record_bytes(value=b"%d" % i), base_offset=i) for i in range(5)]


def test_rows_have_every_field(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = segment(tmp_path, b"".join(BATCHES))
    for fields, options in ((SEGMENT_BATCH_FIELDS, ()), (SEGMENT_RECORD_FIELDS, ("--records",))):
        named = {field.name for field in fields if "." not in field.name} - {"decoded"}
        rows = lines(capfd, path, *options)
        assert len(rows) == 5
        assert all(set(row) == named for row in rows)
        assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 3)}


def test_a_folder_is_its_segments_in_order(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    segment(tmp_path, BATCHES[1], "00000000000000000001.log")
    segment(tmp_path, BATCHES[0])
    segment(tmp_path, b"no segment", "leader-epoch-checkpoint")
    assert [row["base_offset"] for row in lines(capfd, tmp_path)] == [0, 1]


@pytest.mark.parametrize("chunk", [1, 7, 61, 100, 1 << 20])
def test_reads_of_any_size_give_the_same(
    chunk: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BATCHES[0] + kafka_python_batch([(NOW, b"k", b"v" * 500, [])] * 9, 1) + b"".join(BATCHES[1:])
    path = segment(tmp_path, data)
    whole = lines(capfd, path)
    from kdissect.cli.log_segments import segment_files

    monkeypatch.setattr(segment_files, "CHUNK", chunk)
    assert lines(capfd, path) == whole
    assert len(whole) == 6


@pytest.mark.parametrize(
    ("damage", "rows", "first"),
    [
        (lambda data: data[:-3], 4, "first corrupt byte 284: batches[4].length: length 57, only 54 bytes"),
        (lambda data: data[:100] + b"?" + data[101:], 5, "first corrupt byte 86: batches[1].crc: says "),
        (lambda data: data[:70] + b"garbage" + data[70:], 5, "batches[1]"),
        (lambda data: data + b"\x01" * 40, 5, "first corrupt byte 353: batches[5].length"),
    ],
)  # fmt: skip
def test_corruption_is_told_and_its_first_byte_named(
    damage: Any, rows: int, first: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """spec/001 5.4 "Guarantees": truncation after a crash, and nonsense that was added."""
    data = b"".join(BATCHES)
    assert len(data) == 345
    path = segment(tmp_path, damage(data))
    assert main(["segments", str(path), "--format", "jsonl"]) == 3
    out, err = capfd.readouterr()
    assert len(out.splitlines()) >= rows
    assert f"{path}: " in err
    assert first in err


def test_zeros_at_the_end_are_room_not_corruption(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(lines(capfd, segment(tmp_path, b"".join(BATCHES) + bytes(10_000)))) == 5


def test_old_formats_in_one_segment(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    samples = [(NOW, b"k", b"v", [])] * 3
    data = kafka_python_messages(samples, 0, 1) + kafka_python_messages(samples, 1, 3) + BATCHES[0]
    rows = lines(capfd, segment(tmp_path, data))
    assert [(row["magic"], row["codec"], row["records"]) for row in rows] == [
        (0, "gzip", 3), (1, "lz4", 3), (2, "none", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("base", "last"), [(0x7FFFFFFD, 0x7FFFFFFF), (0x7FFFFFFE, 0), (0x7FFFFFFF, 1)])
def test_sequences_begin_again_at_0(
    base: int, last: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """DefaultRecordBatch#incrementSequence."""
    records = b"".join(map(record_bytes, range(3)))
    path = segment(tmp_path, batch_bytes(records, 3, producer_id=7, epoch=0, sequence=base))
    ((first_of_batch, last_of_batch),) = [
        (row["base_sequence"], row["last_sequence"]) for row in lines(capfd, path)
    ]
    by_record = [row["sequence"] for row in lines(capfd, path, "--records")]
    assert (first_of_batch, last_of_batch) == (base, last)
    assert (by_record[0], by_record[-1]) == (base, last)


def test_old_messages_have_no_leader_epoch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Batches of magic 2 have one, from KIP-101 on."""
    data = (
        message_bytes(b"a", magic=0)
        + message_bytes(b"b", offset=1)
        + batch_bytes(record_bytes(), base_offset=2)
    )
    rows = lines(capfd, segment(tmp_path, data))
    assert [(row["magic"], row["leader_epoch"]) for row in rows] == [(0, None), (1, None), (2, 0)]


@pytest.mark.parametrize("options", [(), ("--records",)])
def test_rows_are_numbered_across_files(
    options: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = segment(tmp_path, b"".join(BATCHES))
    rows = lines(capfd, path, path, *options)
    assert [row["number"] for row in rows] == list(range(1, 11))
    positions = [row["position"] for row in rows]
    assert positions[:5] == positions[5:]


def test_a_file_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["segments", str(tmp_path / "no.log")]) == 3
    assert "No such file" in capfd.readouterr().err


@pytest.mark.parametrize("options", [(), ("--records",)])
def test_parquet(options: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, target = segment(tmp_path, b"".join(BATCHES)), tmp_path / "out.parquet"
    assert main(["segments", str(path), *options, "--format", "parquet", "-o", str(target)]) == 0
    table = parquet.read_table(target)
    assert table.num_rows == 5
    rows = lines(capfd, path, *options)
    for name in ("number", "position", "crc_ok", "magic"):
        assert table[name].to_pylist() == [row[name] for row in rows]


def test_topics_of_folders() -> None:
    """spec/001 5.4: a partition's folder has the name of its topic, a dash, its number."""
    assert place_of("a/my-topic-12/0.log", None) == ("my-topic", 12)
    assert place_of(f"t-0.{'0' * 32}-delete/0.log", None) == ("t", 0)
    assert place_of("x/0.checkpoint", None) == ("__cluster_metadata", None)
    assert place_of("0.log", "named") == ("named", None)
