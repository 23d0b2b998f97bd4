"""Snapshots that come in pieces (FetchSnapshot): joined they are the whole, and nothing is made up."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.cli import main
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.records import snapshot_pieces
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.model.anomaly import Anomaly
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes

CAPTURE = CAPTURES / "kafka44_snapshot.pcapng.gz"
FETCHED = next((CAPTURES / "logs" / "kafka44snapshot_cluster_metadata-0").glob("*.checkpoint"))
TOPIC = "__cluster_metadata"
WHOLE = FETCHED.read_bytes()
HEAD = b"before the records"  # so that places in the frame and in the snapshot differ
Piece = tuple[int, int]


def lines(capfd: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main([*map(str, arguments), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_a_real_snapshot_in_pieces_is_what_the_node_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    """The node's file is held against kafka-dump-log by test_segments."""
    fetched = lines(capfd, "records", CAPTURE, "--api", "FetchSnapshot")
    kept = lines(capfd, "segments", FETCHED, "--records")
    assert len({row["exchange"] for row in fetched}) == 2  # of 4: one batch goes over three pieces
    names = ("offset", "timestamp", "key", "value", "control", "leader_epoch", "crc_ok", "decoded")
    assert len(kept) > 40
    assert [[row.get(name) for name in names] for row in fetched] == [
        [row.get(name) for name in names] for row in kept
    ]


def test_parquet_joins_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "out.parquet"
    arguments = ["records", str(CAPTURE), "--api", "FetchSnapshot", "--format", "parquet", "-o", str(target)]
    assert main(arguments) == 0
    kept = lines(capfd, "segments", FETCHED, "--records")
    assert parquet.read_table(target)["offset"].to_pylist() == [row["offset"] for row in kept]


def piece(start: int, end: int, data: bytes = WHOLE, connection: str = "a", epoch: int = 1) -> RecordSet:
    info = ConnectionInfo(connection, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9093), 0)
    exchange = Exchange(info, 0)
    exchange.api_key, exchange.api_version = 59, 0
    frame = Frame(HEAD + data[start:end], len(HEAD) + end - start, 1, 1, 0, 0)
    records_field = RecordsField(TOPIC, None, 0, start, len(HEAD), len(frame.data), (9, epoch))
    return RecordSet(exchange, True, frame, records_field)


def offsets(sets: Iterable[RecordSet], pieces: SnapshotPieces | None = None) -> list[list[int]]:
    """Return the offsets that each piece gives."""
    pieces = pieces or SnapshotPieces()
    rows = RecordRows(["file"])
    found = []
    for records in sets:
        pieces.join(records)
        anomalies: list[Anomaly] = []
        found.append([row["offset"] for row in rows.rows(records, anomalies)])
        assert not anomalies
    return found


ALL = offsets([piece(0, len(WHOLE))])[0]
# Forty batches of 68 to 82 bytes.
MANY = b"".join(batch_bytes(record_bytes(value=b"v" * (i % 15)), base_offset=i) for i in range(40))


def flat(found: Sequence[Sequence[int]]) -> list[int]:
    return [offset for part in found for offset in part]


@pytest.mark.parametrize("size", [1, 7, 61, 69, 100, 1000, 5000])
def test_pieces_of_any_size(size: int) -> None:
    for data, wanted in ((WHOLE, ALL), (MANY, list(range(40)))):
        sets = [piece(at, min(at + size, len(data)), data) for at in range(0, len(data), size)]
        assert flat(offsets(sets)) == wanted


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_pieces_missing_repeated_and_of_several_snapshots(data: st.DataObject) -> None:
    """What was asked for again tells the same; of what is missing only whole batches are told."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(MANY) - 1), max_size=12)))
    spans = list(zip([0, *cuts], [*cuts, len(MANY)], strict=True))
    lost = data.draw(st.sets(st.integers(0, len(spans) - 1), max_size=3))
    again = data.draw(st.sets(st.integers(0, len(spans) - 1), max_size=3))
    pieces = SnapshotPieces()
    seen: list[int] = []
    for number, (start, end) in enumerate(spans):
        if number in lost:
            continue
        (found,) = offsets([piece(start, end, MANY)], pieces)
        other = offsets([piece(0, 100, MANY, connection="b"), piece(0, 100, MANY, epoch=2)], pieces)
        assert flat(other) == [0, 0]
        if number in again:
            assert offsets([piece(start, end, MANY)], pieces) == [found]
        seen += found
    assert seen == sorted(set(seen))
    assert set(seen) == whole_batches([span for number, span in enumerate(spans) if number not in lost])


def whole_batches(spans: list[Piece]) -> set[int]:
    """Return offsets of the batches that lie in pieces which follow each other."""
    runs: list[list[int]] = []
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1][1] = end
        else:
            runs.append([start, end])
    at, found = 0, set()
    for offset in range(40):
        size = 12 + int.from_bytes(MANY[at + 8 : at + 12])
        if any(start <= at and at + size <= end for start, end in runs):
            found.add(offset)
        at += size
    return found


def test_what_does_not_fit_names_its_byte_in_the_snapshot() -> None:
    damaged = bytearray(MANY)
    damaged[68 + 30] ^= 1  # a timestamp of the batch at byte 68
    pieces, rows, told = SnapshotPieces(), RecordRows(["file"]), []
    for start, end in ((0, 100), (100, len(MANY))):
        records = piece(start, end, bytes(damaged))
        pieces.join(records)
        anomalies: list[Anomaly] = []
        list(rows.rows(records, anomalies))
        told.append([anomaly.detail for anomaly in anomalies])
    assert told[0] == []
    (detail,) = told[1]
    assert "batches[0].crc: " in detail
    assert detail.endswith(" at byte 85 of the snapshot")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = SnapshotPieces()
    for number in range(100):
        pieces.join(piece(0, 100, MANY, connection=str(number)))
    assert len(pieces._pieces) == snapshot_pieces.MAX_SNAPSHOTS
    monkeypatch.setattr(snapshot_pieces, "MAX_TAIL", 50)
    sets = [piece(0, 68 + 60, MANY), piece(68 + 60, len(MANY), MANY)]
    assert flat(offsets(sets)) == [0, *range(2, 40)]


@pytest.mark.parametrize("junk", [b"", b"\0" * 500, b"\xff" * 500, bytes(range(256)) * 3])
def test_nonsense_raises_nothing(junk: bytes) -> None:
    pieces = SnapshotPieces()
    for start, end in ((0, 100), (100, 300), (100, 300), (300, len(junk)), (7, 9)):
        records = piece(start, max(start, end), junk)
        pieces.join(records)
        list(RecordRows(["file"]).rows(records, []))
