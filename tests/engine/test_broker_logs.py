"""spec/001 "5.3" and "5.4 Log" on what real brokers wrote: segments, and the traffic that filled them."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.log_segments.segment_files import base_offset
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.segments.index_kinds import TimeIndex
from kdissect.model.record_batch import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, RecordBatch
from tests.support.console import CAPTURES

LOGS = CAPTURES / "logs"
SEGMENTS = sorted(LOGS.rglob("*.log"))
GENERATIONS = CAPTURES / "kafka28_java_generations_early.pcapng"
# The message format each release of the Java producer writes (5.3.3; KIP-32 for 0.10, KIP-98 for 0.11).
FORMATS = {"v0-8": 0, "v0-9": 0, "v0-10": 1, "v0-11": 2, "v1-0": 2, "v1-1": 2}
UNUSED_OF_MESSAGES = {0: ~CODEC_MASK & 0xFF, 1: ~(CODEC_MASK | LOG_APPEND_TIME) & 0xFF}
BEFORE_MAGIC = 16  # base offset, length and leader epoch: what a broker assigns


def batches_in(path: Path) -> list[RecordBatch]:
    data = path.read_bytes()
    found = split_batches(data, 0, len(data))
    assert not found.faults
    return found.batches


def raw(batch: RecordBatch) -> bytes:
    return batch.data[batch.start : batch.end]


def logged(topic: str) -> dict[int, RecordBatch]:
    """Return batches by their offset."""
    folder = LOGS / f"{topic}-0"
    return {batch.base_offset: batch for path in sorted(folder.glob("*.log")) for batch in batches_in(path)}


def sent(path: Path, direction: str) -> dict[str, list[RecordBatch]]:
    """Return batches on the wire by topic."""
    found: dict[str, list[RecordBatch]] = {}
    dissection = Dissection(str(path))
    for exchange in dissection:
        for records in record_sets(exchange):
            if records.direction == direction:
                name = records.records_field.topic
                if name is None and records.records_field.topic_id is not None:
                    name = dissection.topics.name(exchange.connection, records.records_field.topic_id)
                found.setdefault(name or "", []).extend(records.found.batches)
    return found


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_is_named_with_the_offset_of_its_first_record(path: Path) -> None:
    """5.4: a log file has the offset of its first message as its name; the first one is all zeros."""
    first = batches_in(path)[0]
    offset = first.base_offset if first.magic > 1 else read_records(first).records[0].offset
    assert base_offset(path.name) == offset
    assert len(path.stem) == 20


def test_files_of_a_log_go_on_where_the_one_before_ended() -> None:
    """5.4 "Writes": appends go to the last file, which is rolled over to a fresh one."""
    for folder in {path.parent for path in SEGMENTS}:
        batches = [batch for path in sorted(folder.glob("*.log")) for batch in batches_in(path)]
        if batches[0].magic == 2:
            for one, other in pairwise(batches):
                assert other.base_offset == one.last_offset + 1


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_go_from_producer_to_disk_without_conversion(codec: str) -> None:
    """5.4: batches are "transferred between producer, broker, and client without recopying".

    5.3.1: offset and leader epoch, which the broker assigns, are outside of the checksum.
    """
    produced = sent(CAPTURES / "kafka44_java_logs.pcapng", "produce")[f"data-{codec}"]
    kept = list(logged(f"kafka44_data-{codec}").values())
    assert [raw(batch)[BEFORE_MAGIC:] for batch in produced] == [raw(batch)[BEFORE_MAGIC:] for batch in kept]
    assert [batch.crc for batch in produced] == [batch.crc for batch in kept]


def test_batches_go_from_disk_to_consumers_byte_by_byte() -> None:
    """5.4, the other half: also of compacted logs, with batches that are empty."""
    fetched = sent(CAPTURES / "kafka44_java_logs.pcapng", "fetch")
    for topic in ("data-zstd", "compacted"):
        kept = logged(f"kafka44_{topic}")
        assert fetched[topic]
        for batch in fetched[topic]:
            assert raw(batch) == raw(kept[batch.base_offset])


def test_compaction_keeps_offsets_and_sequences_and_moves_the_base_timestamp() -> None:
    """5.3.1: first and last offset and sequence stay, in an empty batch too; the base timestamp does not.

    With tombstones it is the delete horizon.
    """
    before = sent(CAPTURES / "kafka44_java_logs.pcapng", "produce")["compacted"]
    empty, partial, untouched = logged("kafka44_compacted").values()
    for old, new in zip(before, (empty, partial, untouched), strict=True):
        assert new.last_offset_delta == old.last_offset_delta == 5
        assert (new.producer_id, new.producer_epoch, new.base_sequence) == (
            old.producer_id,
            old.producer_epoch,
            old.base_sequence,
        )
        assert new.max_timestamp == old.max_timestamp
    assert [batch.count for batch in (empty, partial, untouched)] == [0, 3, 6]
    assert (empty.base_timestamp, untouched.base_timestamp) == (NO_TIMESTAMP, before[2].base_timestamp)
    assert partial.base_timestamp == partial.delete_horizon_ms != before[1].base_timestamp
    values = {record.offset: record for record in read_records(before[1]).records}
    for record in read_records(partial).records:
        assert record.timestamp == values[record.offset - 6].timestamp
    assert any(record.value is None for record in read_records(partial).records)


def test_a_transaction_s_control_batch_has_one_record() -> None:
    """5.3.1.1: a single record, the marker; KRaft's control batches (KIP-630) have several."""
    logs = LOGS.glob("*_ledger-0/*.log")
    markers = [batch for path in logs for batch in batches_in(path) if batch.is_control]
    keys = [control_key(read_records(batch).records[0].key) for batch in markers]
    assert [batch.count for batch in markers] == [1] * 4
    assert sorted(key.name for key in keys if key) == ["abort", "abort", "commit", "commit"]


@pytest.mark.parametrize("release", ["kafka28", "kafka44"])
def test_markers_tell_what_applications_see(release: str, capfd: pytest.CaptureFixture[str]) -> None:
    """5.3.1.1: control records are for finding the aborted records, and never passed on."""
    truth = json.loads((CAPTURES / f"{release}_java_logs.truth.json").read_text())
    outcomes = {found["prefix"]: found["outcome"] for found in truth["transactions"]}
    told = {
        record["offset"]: record["value"]
        for record in truth["records"]["sent"]
        if record["topic"] == "ledger"
    }
    assert main(["segments", str(LOGS / f"{release}_ledger-0"), "--records", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    open_: list[int] = []
    ended: dict[int, str] = {}
    for row in rows:
        if row["control"] is None:
            open_.append(row["offset"])
        else:
            ended |= dict.fromkeys(open_, {"commit": "committed", "abort": "aborted"}[row["control"]])
            open_.clear()
    assert {row["offset"]: row["value"] for row in rows if row["control"] is None} == told
    assert {offset: outcomes.get(value.split("-")[0]) for offset, value in told.items()} == {
        offset: ended.get(offset) for offset in told
    }
    assert set(ended.values()) == {"committed", "aborted"}


def test_the_time_index_ends_with_the_largest_timestamp() -> None:
    """5.4 "Deletes": the largest timestamp in a segment decides, whatever the order of its records.

    Brokers write it when they close a segment; that of the metadata log (KRaft) stays open.
    """
    closed = [path for path in LOGS.rglob("*.timeindex") if "cluster_metadata" not in path.parent.name]
    for path in closed:
        index = TimeIndex(path.read_bytes(), base_offset(path.name))
        *_, last = (entry.row["timestamp_ms"] for entry in index.entries(None))
        assert last == max(batch.max_timestamp for batch in batches_in(path.with_suffix(".log")))
    assert len(closed) > 20


def test_producers_of_each_release_write_the_format_of_their_time() -> None:
    """5.3.3: 0 before 0.10, 1 with timestamps from 0.10 on; 5.3.1: 2 since 0.11.

    The producer leaves the timestamp type alone, the bits that have no meaning are 0.
    """
    seen = set()
    for exchange in Dissection(str(GENERATIONS)):
        for records in record_sets(exchange):
            if records.direction != "produce":
                continue
            release = "-".join((exchange.client_id or "").split("-")[:2])
            for batch in records.found.batches:
                assert batch.magic == FORMATS[release]
                assert not batch.is_log_append_time
                assert not batch.attributes & UNUSED_OF_MESSAGES.get(batch.magic, ~0x7F)
                seen.add((release, batch.magic))
    assert dict(seen) == FORMATS


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_outer_messages_on_disk(magic: int, codec: int) -> None:
    """5.3.3: the key is null, the offset that of the last inner message; brokers of 2.8 wrote these.

    In version 0 each inner message has its own offset, in version 1 they count from the outer one.
    """
    (outer,) = batches_in(LOGS / f"kafka28_magic{magic}-{codec}-0" / f"{0:020}.log")
    assert outer.magic == magic
    assert outer.data[outer.records_start : outer.records_start + 4] == b"\xff" * 4
    assert outer.base_offset == 4
    assert [record.offset for record in read_records(outer).records] == [0, 1, 2, 3, 4]
