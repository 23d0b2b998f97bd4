"""What is frozen of an open connection does not grow with the exchanges that are over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")
pytest.importorskip("crc32c", reason="needs the `test` extra")

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.history import api_keys as apis
from kdissect.history.producing import stored_batches
from tests.pipeline.streaming.arriving import arrive
from tests.pipeline.streaming.drive import Stream, settings_of
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import START_NS, Conversation

FEW, MANY = 100, 3000
# Between two exchanges: a file is more than the second that waits.
_PAUSE_NS = 30_000_000
_END_TXN = 26
_BATCH = record_bytes(value=b"x" * 40)
Step = tuple[int, int, dict[str, Any], dict[str, Any]]
"""API, version, request and answer."""


def _batch(number: int) -> bytes:
    return batch_bytes(_BATCH, producer_id=7, epoch=0, sequence=number)


def _produced(number: int, transactional_id: str | None = None) -> Step:
    rows = [{"index": 0, "records": _batch(number)}]
    asked = {
        "transactional_id": transactional_id, "acks": -1, "timeout_ms": 1000, "topic_data":
        [{"name": "t", "partition_data": rows}],
    }  # fmt: skip
    told = {"index": 0, "error_code": 0, "base_offset": number, "log_append_time_ms": -1}
    answer = {"responses": [{"name": "t", "partition_responses": [told | {"log_start_offset": 0}]}]}
    return apis.PRODUCE, 8, asked, answer


def produce(number: int) -> Iterator[Step]:
    """Yield an idempotent producer's next batch."""
    yield _produced(number)


def fetch(number: int) -> Iterator[Step]:
    """Yield the next fetch of a session, which brings a batch."""
    asked = {"session_id": 7 if number else 0, "session_epoch": number, "topics": []}
    told = {"partition_index": 0, "high_watermark": number + 1, "log_start_offset": 0, "error_code": 0}
    told |= {"records": batch_bytes(_BATCH, base_offset=number), "aborted_transactions": None}
    if not number:
        asked["topics"] = [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0}]}]
    answer = {"session_id": 7, "responses": [{"topic": "t", "partitions": [told]}]}
    yield apis.FETCH, 11, asked, answer


def group(number: int) -> Iterator[Step]:
    """Yield a member's heartbeat, and its commit."""
    member = {"group_id": "g", "generation_id": 3, "member_id": "m"}
    yield apis.HEARTBEAT, 3, member, {"error_code": 0}
    rows = [{"partition_index": 0, "committed_offset": number, "committed_metadata": ""}]
    asked = {"group_id": "g", "generation_id_or_member_epoch": 3, "member_id": "m"}
    answered = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 0}]}]}
    yield apis.OFFSET_COMMIT, 7, asked | {"topics": [{"name": "t", "partitions": rows}]}, answered


def transaction(number: int) -> Iterator[Step]:
    """Yield a transaction of one batch."""
    ids = {"producer_id": 7, "producer_epoch": 0}
    named = {"v3_and_below_transactional_id": "x", "v3_and_below_producer_id": 7}
    asked = named | {
        "v3_and_below_producer_epoch": 0, "v3_and_below_topics": [{"name": "t", "partitions": [0]}]
    }  # fmt: skip
    told = {"name": "t", "results_by_partition": [{"partition_index": 0, "partition_error_code": 0}]}
    yield apis.ADD_PARTITIONS_TO_TXN, 2, asked, {"results_by_topic_v3_and_below": [told]}
    yield _produced(number, "x")
    yield _END_TXN, 2, {"transactional_id": "x", "committed": True, **ids}, {"error_code": 0}


def _talked(talk: Conversation, make: Callable[[int], Iterator[Step]], numbers: range) -> None:
    for number in numbers:
        for at, (key, version, asked, answer) in enumerate(make(number)):
            correlation = number * 4 + at
            talk.wait(_PAUSE_NS).client(encode_request(key, version, correlation, "c", asked))
            talk.broker(encode_response(key, version, correlation, answer))


@pytest.mark.exhaustive
@pytest.mark.parametrize("make", [produce, fetch, group, transaction], ids=lambda make: make.__name__)
def test_closed_exchanges_leave_nothing(
    make: Callable[[int], Iterator[Step]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Batches that brokers took are kept up to this number: it is full after the first files.
    monkeypatch.setattr(stored_batches, "BATCHES_KEPT", FEW // 2)
    stream = Stream(settings_of(tmp_path, tmp_path / "in", shards=1))
    talk = Conversation(start_ns=START_NS).handshake()
    flows, sets = [], []
    first = 0
    for number, last in enumerate((FEW, MANY)):
        _talked(talk, make, range(first, last))
        first = last
        arrive(tmp_path / "in", number, talk.packets)
        talk.packets.clear()
        done = stream.step()
        assert done is not None
        assert done.rows["exchanges"] > last // 2, "nothing was analysed"
        ((flow, _),) = [entry for key, entry in stream.stores[0].entries.items() if key[:1] == b"F"]
        flows.append(len(flow))
        (state,) = (tmp_path / "checkpoint" / "kdissect" / "sets").glob(f"{done.batch:010}-*.state")
        sets.append(state.stat().st_size)
    # Time lines have so many slots at most, and what is told of a transactional id so many events.
    assert flows[1] <= flows[0] + 4_000, flows
    assert sets[1] <= sets[0] + 30_000, sets
