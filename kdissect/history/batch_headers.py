"""What histories need of record batches: the fields of the header that name the producer.

Only message format 2 has them; older message sets give nothing.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

# A partition of a Produce request holds one batch from version 3 on
# (org.apache.kafka.common.requests.ProduceRequest); more are read to see what a broker refuses.
BATCHES_READ = 64
_LOG_OVERHEAD = 12  # base offset int64, batch length int32 (spec/001 "5.3.1 Record Batch")
_HEADER = struct.Struct(">qiibIhiqqqhii")  # all fields up to the count of records (same place)
_MAGIC_2 = 2  # RecordBatch.MAGIC_VALUE_V2
_TRANSACTIONAL, _CONTROL = 0x10, 0x20  # attributes (spec/001 "5.3.1 Record Batch")


_PRODUCER = struct.Struct(">8xi31xq")  # of the same, the length of the batch and the producer id


class BatchHeader(NamedTuple):
    """Fields of one batch. `records` counts them, `last_offset_delta` is one less in a Produce."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_offset_delta: int
    records: int
    is_transactional: bool
    is_control: bool


def is_one_without_producer(records: bytes | memoryview | None) -> bool:
    """Whether a records field is a single batch that names no producer, as most are: a quick look."""
    if records is None or len(records) < _PRODUCER.size:
        return False
    length, producer_id = _PRODUCER.unpack_from(records)
    return bool(producer_id == -1 and length + _LOG_OVERHEAD == len(records))


def batch_headers(records: bytes | memoryview | None) -> Iterator[BatchHeader]:
    """The headers of the batches in a records field, as far as they are there and of format 2."""
    if records is None:
        return
    at = 0
    for _ in range(BATCHES_READ):
        if at + _HEADER.size > len(records):
            return
        (_, length, _, magic, _, attributes, last_delta, _, _, producer_id, epoch, sequence, count) = (
            _HEADER.unpack_from(records, at)
        )
        if magic != _MAGIC_2 or length < _HEADER.size - _LOG_OVERHEAD:
            return
        transactional, control = bool(attributes & _TRANSACTIONAL), bool(attributes & _CONTROL)
        yield BatchHeader(producer_id, epoch, sequence, last_delta, count, transactional, control)
        at += _LOG_OVERHEAD + length
