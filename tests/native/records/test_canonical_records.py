"""The compiled hot path tells the same records usual as Python."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kdissect
from kdissect.decoders.records.canonical_batch import read_latest
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.native import native
from tests.support.console import CAPTURES
from tests.support.messages.batches import record_bytes

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

BYTES = st.one_of(st.none(), st.binary(max_size=200))
RECORDS = st.lists(
    st.tuples(
        BYTES, BYTES, st.integers(-3, 300), st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=2)
    ),
    max_size=6,
)


def both(wanted: int | None, last: int, data: bytes, at: int, end: int, dense: bool) -> int | None:
    found = read_latest(wanted, last, data, at, end, dense)
    assert native.latest_delta(wanted, last, data, at, end, dense) == found
    return found


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=400)
@given(RECORDS, st.integers(1, 3), st.booleans(), st.data())
def test_records_as_they_are_and_damaged(
    parts: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]],
    step: int,
    dense: bool,
    data: st.DataObject,
) -> None:
    content = b"".join(
        record_bytes(offset_delta=n * step, timestamp_delta=n and when, key=key, value=value, headers=headers)
        for n, (key, value, when, headers) in enumerate(parts)
    )
    found = both(len(parts), len(parts) * step, content, 0, len(content), dense)
    is_ascii = all(key.isascii() for _, _, _, headers in parts for key, _ in headers)
    assert (found is not None) == (is_ascii and (step == 1 or not dense or len(parts) < 2))
    both(None, 0, content, 0, len(content), dense)
    both(len(parts), 0, content, 0, len(content), dense)
    if content:
        both(len(parts), 99, content[:-1], 0, len(content) - 1, dense)
        at = data.draw(st.integers(0, len(content) - 1))
        damaged = bytearray(content)
        damaged[at] = data.draw(st.integers(0, 255))
        both(len(parts), 99, bytes(damaged), 0, len(content), dense)
        both(len(parts), 99, content, at, len(content), dense)


@pytest.mark.parametrize(
    "head", [b"\x80" * n + b"\x01" for n in range(12)] + [b"\xff" * n for n in range(12)]
)
def test_long_varints(head: bytes) -> None:
    for front in (b"", b"\x0e\0", b"\x20\0", b"\x20\0\0", b"\x20\0\0\0"):
        for rest in (b"", bytes(20), b"\x01\x01" + bytes(20)):
            data = front + head + rest
            both(1, 5, data, 0, len(data), False)


def test_batches_of_recordings() -> None:
    usual = 0
    for name in (
        "kafka44_java_produce.pcapng",
        "kafka28zk_franz_late.pcapng",
        "kafka44_sarama_produce.pcapng",
    ):
        for exchange in kdissect.open(CAPTURES / name):
            for _, found in record_batches(exchange):
                for batch in found.batches:
                    where = batch.data, batch.records_start, batch.end
                    for dense in (True, False):
                        usual += both(batch.count, batch.last_offset_delta, *where, dense) is not None
    assert usual > 100
