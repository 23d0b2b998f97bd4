"""Whole responses after which a client resets its connection, and what looks like it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kdissect.model.cause import Diagnosis
from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import CLIENT

_FETCH = 1
_LARGE = batch_bytes(record_bytes(value=bytes(5_000)))


def _fetch(talk: Talk, offset: int, records: bytes = _LARGE) -> Talk:
    partition = {"partition": 0, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": 1024}
    body = {
        "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1024, "isolation_level": 0,
        "topics": [{"topic": "orders", "partitions": [partition]}],
    }  # fmt: skip
    row = {
        "partition_index": 0, "error_code": 0, "high_watermark": 1000, "last_stable_offset": 1000,
        "log_start_offset": 0, "aborted_transactions": None, "records": records,
    }  # fmt: skip
    talk.ask(_FETCH, 4, body)
    responses = [{"topic": "orders", "partitions": [row]}]
    return talk.answer(_FETCH, 4, {"throttle_time_ms": 0, "responses": responses})


def _told(
    folder: Path, offsets: Sequence[int], ends: str, records: bytes = _LARGE, late: float = 0
) -> Diagnosis:
    """Return a connection for each offset. `ends`: r for a reset, f for FIN; the last one is repeated."""
    talks = []
    for number, offset in enumerate(offsets):
        talk = _fetch(Talk("reader", 40_000 + number, begins=number), offset, records).wait(late)
        is_reset = ends[min(number, len(ends) - 1)] == "r"
        (talk.talk.rst if is_reset else talk.talk.fin)(CLIENT)
        talks.append(talk)
    return what_is_wrong(folder, *talks)


def test_the_records_are_named(tmp_path: Path) -> None:
    first = _told(tmp_path, [40] * 4, "rf").causes
    assert first == ()  # one reset may be a client that is killed
    (cause,) = _told(tmp_path, [40] * 4, "rrf").causes
    assert cause.id == "response-too-large"
    assert "'reader'" in cause.sentence
    assert "4 times at once after the whole response, with the same records" in cause.sentence
    assert "topic 'orders', partition 0 from offset 40: 5.1 kB" in cause.sentence


@pytest.mark.parametrize(
    ("offsets", "ends", "records", "late"),
    [
        ([40] * 2, "r", _LARGE, 0),
        ([40] * 4, "f", _LARGE, 0),
        ([40, 41, 42, 43], "r", _LARGE, 0),
        ([40] * 4, "r", _LARGE[:900], 0),
        ([40] * 4, "r", b"", 0),
        ([40] * 4, "r", _LARGE, 1.5),
    ],
    ids=["twice", "FIN", "other records", "small", "none", "later"],
)
def test_what_is_no_refusal(
    tmp_path: Path, offsets: list[int], ends: str, records: bytes, late: float
) -> None:
    assert "response-too-large" not in ids(_told(tmp_path, offsets, ends, records, late))


def test_a_client_that_fetches_on_after_a_larger_response_accepts_it(tmp_path: Path) -> None:
    reads = Talk("reader", 50_000)
    for offset in (1, 2, 3):
        _fetch(reads, offset, batch_bytes(record_bytes(value=bytes(6_000)))).wait(1)
    talks = [_fetch(Talk("reader", 40_000 + number, begins=number), 40) for number in range(4)]
    for talk in talks:
        talk.talk.rst(CLIENT)
    assert "response-too-large" in ids(what_is_wrong(tmp_path, *talks))
    assert "response-too-large" not in ids(what_is_wrong(tmp_path, *talks, reads))
