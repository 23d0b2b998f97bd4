"""Producers' states found again from batches, by the rules of ProducerStateEntry and ProducerAppendInfo."""

import gzip
import struct

import pytest

from kdissect.decoders.records.batches import split_batches
from kdissect.engine.exchange_rows import Row
from kdissect.engine.segments import producer_states
from kdissect.engine.segments.batch_positions import AbortedTransaction
from kdissect.engine.segments.producer_states import ProducerStates
from kdissect.model.record_batch import RecordBatch
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes

TRANSACTIONAL, CONTROL = 0x10, 0x20


def batch(data: bytes) -> RecordBatch:
    (found,) = split_batches(data, 0, len(data)).batches
    return found


def data(
    offset: int, sequence: int, *, epoch: int = 0, count: int = 2, producer: int = 7, **more: int
) -> RecordBatch:
    records = b"".join(record_bytes(i) for i in range(count))
    return batch(
        batch_bytes(
            records, count, base_offset=offset, sequence=sequence, epoch=epoch, producer_id=producer,
            attributes=TRANSACTIONAL, **more,
        )
    )  # fmt: skip


def marker(offset: int, kind: int, *, epoch: int = 0, producer: int = 7) -> RecordBatch:
    record = record_bytes(key=struct.pack(">hh", 0, kind), value=struct.pack(">hi", 0, 3))
    attributes = TRANSACTIONAL | CONTROL
    return batch(
        batch_bytes(record, base_offset=offset, epoch=epoch, producer_id=producer, attributes=attributes)
    )


ABORT, COMMIT = 0, 1


def row(epoch: int, sequence: int | None, offset: int | None, first: int | None, producer: int = 7) -> Row:
    return {
        "producer_id": producer, "producer_epoch": epoch, "last_sequence": sequence, "last_offset": offset,
        "current_txn_first_offset": first,
    }  # fmt: skip


def states(*batches: RecordBatch) -> ProducerStates:
    found = ProducerStates()
    for each in batches:
        found.add(each)
    return found


def test_the_last_batch_and_the_first_offset_of_the_transaction() -> None:
    found = states(data(0, 0), data(2, 2), data(4, 4, count=1))
    assert found.faults(row(0, 4, 4, 0)) == []
    assert found.faults(row(0, 4, 4, 2)) == ["open transaction 2: the log gives 0"]
    assert found.faults(row(0, 3, 3, None)) == [
        "last offset 3: the log gives 4", "last sequence 3: the log gives 4",
        "open transaction None: the log gives 0",
    ]  # fmt: skip


def test_a_marker_ends_the_transaction_and_keeps_the_batch() -> None:
    assert states(data(0, 0), marker(2, COMMIT)).faults(row(0, 1, 1, None)) == []


def test_a_marker_of_a_new_epoch_makes_the_batches_forgotten() -> None:
    """KIP-890: the epoch is raised with every transaction."""
    found = states(data(0, 0), marker(2, COMMIT, epoch=1))
    assert found.faults(row(1, None, None, None)) == []
    assert found.faults(row(1, 1, 1, None)) == [
        "last offset 1: the log gives None", "last sequence 1: the log gives None",
    ]  # fmt: skip
    found.add(data(3, 0, epoch=1))
    assert found.faults(row(1, 1, 4, 3)) == []


def test_sequences_wrap_and_may_be_absent() -> None:
    assert states(data(0, 0x7FFFFFFF)).faults(row(0, 0, 1, 0)) == []
    assert states(data(0, -1)).faults(row(0, -1, 1, 0)) == []  # the group coordinator's


def test_aborted_transactions() -> None:
    found = ProducerStates()
    assert found.add(data(0, 0)) is None
    assert found.add(data(2, 2)) is None
    assert found.add(marker(4, ABORT)) == (4, AbortedTransaction(7, 0))
    assert found.add(data(5, 4)) is None
    assert found.add(marker(7, COMMIT)) is None


def test_where_a_log_begins_later_the_first_transaction_may_have_begun_before() -> None:
    found = ProducerStates()
    found.add(data(50, 9))
    assert found.faults(row(0, 10, 51, 40)) == []
    assert found.add(marker(52, ABORT)) == (52, AbortedTransaction(7, None))
    found.add(data(53, 11))
    assert found.add(marker(55, ABORT)) == (55, AbortedTransaction(7, 53))


@pytest.mark.parametrize(
    "batches",
    [
        (data(0, 0), data(3, 3)),
        (data(0, 0, last_delta=5),),
        (data(0, 0), batch(batch_bytes(record_bytes(), base_offset=2, crc=1))),
    ],
)
def test_where_offsets_are_missing_nothing_is_sure(batches: tuple[RecordBatch, ...]) -> None:
    """Compaction, or damage."""
    found = states(*batches)
    assert not found.is_whole
    assert found.faults(row(9, 9, 9, 9)) == []


def test_producers_that_were_not_seen() -> None:
    assert states(data(0, 0)).faults(row(3, 3, 3, 3, producer=8)) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_states, "MAX_PRODUCERS", 2)
    found = states(*(data(2 * i, 0, producer=i) for i in range(5)))
    assert len(found._states) == 2
    assert found.faults(row(9, 9, 9, 9, producer=0)) == []


def test_compressed_messages_of_old_formats_leave_the_states_sure() -> None:
    """How many records they have is not in their header."""
    old = message_bytes(gzip.compress(message_bytes(b"a", offset=1)), offset=1, attributes=1)
    found = states(batch(message_bytes(b"a")), batch(old), data(2, 0))
    assert found.is_whole
    assert found.faults(row(0, 1, 3, 2)) == []
    assert found.faults(row(1, 1, 3, 2)) == ["epoch 1: the log gives 0"]


def test_a_marker_of_a_producer_without_room_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_states, "MAX_PRODUCERS", 1)
    found = states(data(0, 0))
    assert found.add(marker(2, ABORT, producer=8)) is None
    assert not found.is_whole


@pytest.mark.parametrize(
    "record", [record_bytes(), record_bytes(key=b"\0"), record_bytes(key=b"\0\0\0\x09"), b""]
)
def test_a_marker_that_says_nothing_ends_nothing(record: bytes) -> None:
    """A control batch of a kind that is not known, or damaged."""
    found = states(data(0, 0))
    said = batch_bytes(record, base_offset=2, epoch=0, producer_id=7, attributes=TRANSACTIONAL | CONTROL)
    assert found.add(batch(said)) is None
    assert found.faults(row(0, 1, 1, 0)) == []
