"""Sizes of batches that are refused as too large."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import pytest

from kdissect.causes.evidence.refused_batches import RefusedBatch, RefusedBatches
from kdissect.causes.producers.message_too_large import MessageTooLarge
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.report.quantities import byte_count
from tests.history.talk import Talk
from tests.support.messages.batches import batch_bytes, record_bytes

_HEADER = 61  # spec/001 "5.3.1 Record Batch"
_GZIP = 1


def _produce(*batches: bytes, errors: tuple[int, ...]) -> ExchangeView:
    """Return a Produce with a batch for each partition, and the errors of its response."""
    data = [{"index": at, "records": records} for at, records in enumerate(batches)]
    rows = [{"index": at, "error_code": error, "base_offset": -1} for at, error in enumerate(errors)]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    answer = {"responses": [{"name": "t", "partition_responses": rows}]}
    return ExchangeView(Talk().ask(0, 3, asked, answer))


def _batch(size: int, codec: int = 0, content: bytes | None = None) -> bytes:
    records = record_bytes(value=bytes(size))
    if codec == _GZIP:
        records = gzip.compress(records) if content is None else content
    return batch_bytes(records, 1, attributes=codec)


def _largest(*views: ExchangeView) -> list[RefusedBatch]:
    found = RefusedBatches(TopicNames())
    for view in views:
        found.add(view)
    return list(found.largest)


def test_the_size_without_compression_decides() -> None:
    plain, packed = _batch(100), _batch(5000, _GZIP)
    raw = _HEADER + len(record_bytes(value=bytes(5000)))
    for views in ([plain, packed], [packed, plain]):
        found = _largest(*(_produce(one, errors=(10,)) for one in views))
        assert found == [RefusedBatch(len(packed), "gzip", raw)]


@pytest.mark.parametrize(("errors", "sizes"), [((0, 18), [1]), ((10, 0), [0]), ((0, 0), []), ((3, 0), [])])
def test_only_refused_partitions_count(errors: tuple[int, ...], sizes: list[int]) -> None:
    batches = [_batch(100), _batch(200)]
    found = _largest(_produce(*batches, errors=errors))
    assert [one.size for one in found] == [len(batches[at]) for at in sizes]


def test_records_that_do_not_decompress_have_no_other_size() -> None:
    (one,) = _largest(_produce(_batch(100, _GZIP, b"no gzip"), errors=(10,)))
    assert (one.codec, one.raw) == ("gzip", None)


def test_a_bounded_number_is_decompressed() -> None:
    views = [_produce(_batch(100 + at, _GZIP), errors=(10,)) for at in range(21)]
    (one,) = _largest(*views)
    assert one.raw == len(_batch(119))


def test_all_batches_without_compression_are_compared() -> None:
    found = RefusedBatches(TopicNames())
    for at in range(30):
        found.add(_produce(_batch(100 + at), errors=(10,)))
    ((key, largest),) = found.largest.items()
    assert largest.size == len(_batch(129))
    assert not found.is_partly_compared(key)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (20, "The largest of them has "),
        (21, "Of batches without compression and the first 20 others, the largest has "),
    ],
)
def test_the_largest_batch_is_said_to_be_that_of_the_compared_ones(count: int, said: str) -> None:
    refused = RefusedBatches(TopicNames())
    for at in range(count):
        refused.add(_produce(_batch(100 + 10 * at, _GZIP), errors=(10,)))
    ((scope, topic),) = (key for key, _ in refused.largest.items())
    errors = SimpleNamespace(keys=[SimpleNamespace(scope=scope, topic=topic)])
    seen = SimpleNamespace(gathering=SimpleNamespace(log=SimpleNamespace(refused=refused)))
    more = MessageTooLarge().more(errors, seen)  # type: ignore[arg-type]
    assert more.startswith(said)
    assert f" {byte_count(_HEADER + len(record_bytes(value=bytes(290))))} without compression" in more
