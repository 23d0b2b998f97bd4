"""Batches that a broker refuses, and that come again or do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kdissect.causes.evidence.dropped_batches import LEAST_NS, RETRIABLE, DroppedBatches
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.session.exchange import Exchange
from kdissect.stats.client import client_of
from tests.history.talk import MS, START_NS, Talk
from tests.support.messages.batches import batch_bytes, record_bytes

_NOT_LEADER, _TIMED_OUT, _TOO_LARGE = 6, 7, 10
_TRANSACTIONAL = 16
_END_NS = START_NS + LEAST_NS + 1_000 * MS


def _batch(*values: bytes, at: int = 0, attributes: int = 0, stamp: int = 0, producer_id: int = -1) -> bytes:
    """Return a batch of records with these values, `at` milliseconds after other ones."""
    records = b"".join(
        record_bytes(number, stamp, key=b"k", value=value) for number, value in enumerate(values)
    )
    return batch_bytes(
        records, len(values), attributes=attributes, base_timestamp=1_000 + at, max_timestamp=1_000 + at,
        producer_id=producer_id,
    )  # fmt: skip


def _produce(
    talk: Talk, batch: bytes, error: int | None = 0, partition: int = 0, **how: Any
) -> Exchange:  # fmt: skip
    """Return a Produce with a batch; `error` None: without a response."""
    data = [{"index": partition, "records": batch}]
    rows = [{"index": partition, "error_code": error, "base_offset": -1 if error else 7}]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    answer = {"responses": [{"name": "t", "partition_responses": rows}]}
    return talk.ask(0, 3, asked, None if error is None else answer, **how)


def _taken(*exchanges: Exchange) -> DroppedBatches:
    """Give exchanges to the evidence as `Gathering` does."""
    found = DroppedBatches(TopicNames())
    for one in exchanges:
        if one.response is not None:
            view = ExchangeView(one)
            found.refuse(view, client_of(view))
        if found.waits:
            found.add(one, one.api_key == 0)
    return found


def _records(found: DroppedBatches, end_ns: int = _END_NS) -> list[tuple[int, int, bool]]:
    return [(one.records, one.requests, one.goes_on) for one in found.found(end_ns)]


_A, _B, _LATER = b"a", b"b", 50
_OVER_MS = 1 + LEAST_NS // MS
"""When a client had the time to send again what was refused in the first millisecond."""


def test_records_that_do_not_come_again_are_dropped() -> None:
    talk = Talk()
    found = _taken(
        _produce(talk, _batch(_A, _B), _NOT_LEADER),
        _produce(talk, _batch(b"c", at=_LATER)),
        _produce(talk, _batch(b"d", at=_LATER), partition=1),
    )
    (one,) = found.found(_END_NS)
    assert (one.topic, one.partition, one.error, one.records) == ("t", 0, _NOT_LEADER, 2)
    assert (one.requests, one.goes_on, one.packets.exchange) == (2, True, 0)


@pytest.mark.parametrize(
    ("again", "left"),
    [
        (_batch(_A, _B), []),
        (_batch(_A, _B, at=_LATER), []),  # with other timestamps
        (_batch(_B, b"c", at=_LATER), [(1, 1, True)]),
        (_batch(b"c"), [(2, 1, False)]),  # a batch before it comes again first
        (_batch(b"c", at=_LATER), [(2, 1, True)]),
    ],
)
def test_what_comes_again(again: bytes, left: list[tuple[int, int, bool]]) -> None:
    talk = Talk()
    assert _records(_taken(_produce(talk, _batch(_A, _B), _NOT_LEADER), _produce(talk, again))) == left


@pytest.mark.parametrize("error", [None, 0, _NOT_LEADER])
def test_what_comes_again_need_not_be_written(error: int | None) -> None:
    talk = Talk()
    first, again = _produce(talk, _batch(_A), _NOT_LEADER), _produce(talk, _batch(_A), error)
    assert len(_records(_taken(first, again))) == (error == _NOT_LEADER)


def test_it_may_come_on_another_connection_of_the_client() -> None:
    first = _produce(Talk(), _batch(_A), _NOT_LEADER)
    assert _records(_taken(first, _produce(Talk(broker="10.0.0.3"), _batch(_A), at=9))) == []
    for other in (Talk(client="10.0.0.9"), Talk(capture_set="other")):
        assert _records(_taken(first, _produce(other, _batch(_A), at=9))) == [(1, 0, False)]
    other_id = _produce(Talk(), _batch(_A), client_id="other", at=9)
    assert _records(_taken(first, other_id)) == [(1, 0, False)]


def test_requests_on_their_way_are_no_later_ones() -> None:
    talk = Talk()
    first = _produce(talk, _batch(_A), _NOT_LEADER, took=100)
    assert _records(_taken(first, _produce(talk, _batch(b"c", at=_LATER), at=50))) == [(1, 0, False)]


@pytest.mark.parametrize(
    ("error", "attributes", "count"),
    [
        (0, 0, 0),
        (_NOT_LEADER, 0, 1),
        (_TOO_LARGE, 0, 0),
        (_TIMED_OUT, 0, 0),
        (_NOT_LEADER, _TRANSACTIONAL, 0),
    ],
)
def test_which_batches_are_watched(error: int, attributes: int, count: int) -> None:
    assert len(_records(_taken(_produce(Talk(), _batch(_A, attributes=attributes), error)))) == count


def test_errors_after_which_a_batch_is_written_do_not_count() -> None:
    assert {3, 5, 6, 19} <= RETRIABLE and not RETRIABLE & {0, 7, 10, 20}


def _without_records(exchange: Exchange) -> None:
    assert exchange.request is not None
    exchange.request.data = exchange.request.data[:-1]


def _after_a_gap(exchange: Exchange) -> None:
    exchange.connection.note(Anomaly(AnomalyKind.GAP, "", 0, START_NS))


@pytest.mark.parametrize("change", [_without_records, _after_a_gap])
def test_what_may_be_in_missing_bytes_is_not_known(change: Callable[[Exchange], None]) -> None:
    talk = Talk()
    first, later = _produce(talk, _batch(_A), _NOT_LEADER), _produce(talk, _batch(b"c", at=_LATER))
    found = _taken(first)
    change(later)
    found.add(later, is_produce=True)
    assert _records(found) == [] and not found.waits


def test_a_gap_before_the_end_of_a_connection() -> None:
    talk = Talk()
    found = _taken(_produce(talk, _batch(_A), _NOT_LEADER))
    talk.info.client_id = "client"
    found.close(talk.info)
    assert found.waits
    talk.info.note(Anomaly(AnomalyKind.GAP, "", 0, START_NS))
    found.close(talk.info)
    assert not found.waits
    assert _records(_taken(_produce(talk, _batch(_A), _NOT_LEADER))) == []


def test_the_end_of_the_capture_leaves_it_open() -> None:
    found = _taken(_produce(Talk(), _batch(_A), _NOT_LEADER, at=0))
    answered_ns = START_NS + MS
    assert (_records(found, answered_ns + LEAST_NS - 1), found.undecided(answered_ns + LEAST_NS - 1)) == (
        [],
        1,
    )
    assert found.undecided(answered_ns + LEAST_NS) == 0
    assert len(_records(found, answered_ns + LEAST_NS)) == 1


@pytest.mark.parametrize(("at", "left"), [(_OVER_MS, [(1, 0, False)]), (_OVER_MS - 1, [])])
def test_2000_exchanges_end_the_wait(at: int, left: list[tuple[int, int, bool]]) -> None:
    """If there is time left to send the batch again, nobody knows whether it came."""
    talk = Talk()
    found = _taken(_produce(talk, _batch(_A), _NOT_LEADER, at=0))
    other = talk.ask(3, 1, {"topics": []}, at=at)
    for _ in range(2_000):
        assert found.waits
        found.add(other, is_produce=False)
    assert not found.waits and _records(found, START_NS) == left
    assert [one.until_ns for one in found.found(START_NS)] == [START_NS + at * MS] * len(left)


def test_20_requests_after_5_s_end_the_wait() -> None:
    talk = Talk()
    found = _taken(_produce(talk, _batch(_A), _NOT_LEADER, at=0))
    for number in range(30):
        found.add(_produce(talk, _batch(b"%d" % number, at=_LATER), at=9), is_produce=True)
    assert found.waits and _records(found, START_NS) == []
    found.add(_produce(talk, _batch(b"last", at=_LATER), at=_OVER_MS), is_produce=True)
    assert not found.waits and _records(found, START_NS) == [(1, 31, True)]
    found = _taken(_produce(talk, _batch(_A), _NOT_LEADER, at=0))
    for number in range(20):
        assert found.waits
        found.add(_produce(talk, _batch(b"%d" % number, at=_LATER), at=_OVER_MS), is_produce=True)
    assert not found.waits and _records(found, START_NS) == [(1, 20, True)]


def _of_another_connection(number: int, producer_id: int = -1) -> Exchange:
    batch = _batch(b"%d" % number, at=_LATER, producer_id=producer_id)
    return _produce(Talk(broker="10.0.0.3"), batch, at=_OVER_MS)


def test_a_retry_after_20_requests_of_another_process() -> None:
    talk = Talk()
    first = _produce(talk, _batch(_A), _NOT_LEADER, at=0)
    others = [_produce(Talk(broker="10.0.0.3"), _batch(b"%d" % at, at=_LATER), at=at) for at in range(9, 34)]
    assert _records(_taken(first, *others, _produce(talk, _batch(_A), at=400))) == []


def test_requests_of_another_connection_do_not_count() -> None:
    others = [_of_another_connection(number) for number in range(25)]
    found = _taken(_produce(Talk(), _batch(_A), _NOT_LEADER, at=0), *others)
    assert found.waits and _records(found) == [(1, 0, False)]


def test_requests_of_the_client_count_after_the_end_of_the_connection() -> None:
    talk = Talk()
    found = _taken(_produce(talk, _batch(_A), _NOT_LEADER, at=0))
    found.close(Talk(broker="10.0.0.3").info)
    found.add(_of_another_connection(0), is_produce=True)
    assert _records(found) == [(1, 0, False)]
    found.close(talk.info)
    for number in range(20):
        assert found.waits
        found.add(_of_another_connection(number), is_produce=True)
    assert not found.waits and _records(found) == [(1, 20, False)]


def test_requests_of_the_producer_id_count() -> None:
    first = _produce(Talk(), _batch(_A, producer_id=7), _NOT_LEADER, at=0)
    for producer_id, left in ((7, (1, 1, True)), (8, (1, 0, False)), (-1, (1, 0, False))):
        assert _records(_taken(first, _of_another_connection(0, producer_id))) == [left]


def test_the_exchanges_that_are_looked_at_are_bounded_by_time() -> None:
    talk, other = Talk(), Talk("10.0.0.9").ask(3, 1, {"topics": []}, at=_OVER_MS + 1)
    refused = [_produce(talk, _batch(b"%d" % number), _NOT_LEADER, at=number) for number in range(3)]
    found = DroppedBatches(TopicNames())
    for number, one in enumerate(refused):
        view = ExchangeView(one)
        found.refuse(view, client_of(view))
        assert found.waits is (number < 2)
        for _ in range(1_000 if number < 1 else 0):
            found.add(other, is_produce=False)
        while number == 1 and found.waits:
            found.add(other, is_produce=False)
    assert len(_records(found)) == 2
    view = ExchangeView(_produce(talk, _batch(b"late"), _NOT_LEADER, at=_OVER_MS + 1_000))
    found.refuse(view, client_of(view))
    assert found.waits


def test_the_refused_exchange_is_no_later_one() -> None:
    refused = _produce(Talk(), _batch(_A), _NOT_LEADER, at=0)
    found = _taken(refused)
    found.add(refused, is_produce=True)
    assert _records(found) == [(1, 0, False)]


def test_a_bounded_number_is_watched() -> None:
    talk = Talk()
    found = _taken(*(_produce(talk, _batch(b"%d" % at, at=at), _NOT_LEADER, at=0) for at in range(510)))
    assert len(_records(found)) == 500
    assert sum(map(len, found._watched.values())) <= 500
