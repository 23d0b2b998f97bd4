"""Records of captures, as kdissect and as kafka-python read them."""

from collections.abc import Iterable, Iterator
from typing import Any

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.decoders.records.records_fields import RecordsField, finder_of
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.history.topics.topic_names import FETCH_SNAPSHOT
from kdissect.model.record_batch import Record, RecordBatch
from kdissect.session.exchange import Exchange
from tests.support.messages.kafka_python import MemoryRecords

Plain = tuple[int, int, bytes | None, bytes | None, tuple[Any, ...]]


def joined_batches(exchanges: Iterable[Exchange]) -> Iterator[RecordBatch]:
    """Yield the batches of exchanges, those of snapshots that came in pieces too (`test_snapshot_pieces`)."""
    pieces = SnapshotPieces()
    for exchange in exchanges:
        if exchange.api_key != FETCH_SNAPSHOT:
            yield from batches_of(exchange)
            continue
        for records in record_sets(exchange):
            pieces.join(records)
            yield from records.found.batches


def batches_of(exchange: Exchange, *, whole_frames: bool = False) -> Iterator[RecordBatch]:
    """Yield the batches of request and response; `whole_frames`: only of frames that were captured whole."""
    for frame, offset, is_response in (
        (exchange.request, exchange.request_body_offset, False),
        (exchange.response, exchange.response_body_offset, True),
    ):
        if frame is None or exchange.api_key is None or exchange.api_version is None:
            continue
        if frame.is_cut and whole_frames:
            continue
        key, version = exchange.api_key, exchange.api_version
        for field in records_fields_of(frame.data, offset, key, version, is_response):
            yield from split_batches(frame.data, field.start, min(field.end, len(frame.data))).batches


def records_fields_of(
    data: bytes, offset: int, api_key: int, api_version: int, is_response: bool
) -> list[RecordsField]:
    """Return the records fields of the body at `offset`, as far as the bytes go."""
    finder = finder_of(api_key, api_version, is_response)
    return finder(data, offset) if finder else []


def plain(record: Record) -> Plain:
    """Return what both readers have."""
    return (record.offset, record.timestamp, record.key, record.value, record.headers)


def ours(batch: RecordBatch) -> list[Plain]:
    """Return the records as kdissect reads them."""
    found = read_records(batch)
    assert not found.faults
    return [plain(record) for record in found.records]


def theirs(data: bytes) -> list[Plain]:
    """Return the records of batches as kafka-python reads them; it has no timestamp for magic 0."""
    return [_theirs(record) for batch in MemoryRecords(data) for record in batch]


def _theirs(record: Any) -> Plain:
    timestamp = -1 if record.timestamp is None else record.timestamp
    return (record.offset, timestamp, record.key, record.value, tuple(record.headers))


def whole(data: bytes) -> RecordBatch:
    """Return the one batch that `data` is."""
    found = split_batches(data, 0, len(data))
    (batch,) = found.batches
    assert not found.faults
    return batch


def faults_of(batch: RecordBatch) -> list[str]:
    """Return everything that is wrong with a batch and its records, as text."""
    return [f"{fault.kind} {fault}" for fault in (*batch.faults, *read_records(batch).faults)]


def all_records(batches: Iterable[RecordBatch]) -> int:
    """Return how many records can be read."""
    return sum(len(read_records(batch).records) for batch in batches)
