"""Where the time of an exchange went, on exchanges made by hand."""

import pickle
from typing import Any

import pytest

from kdissect.history.exchange_view import ExchangeView
from kdissect.session.exchange import Exchange
from kdissect.stats.times.response_time import ResponseTime, response_time
from kdissect.stats.traffic import Tally
from kdissect.stats.watermarks import Watermarks
from tests.history.talk import Talk

METADATA, FETCH, PRODUCE = 3, 1, 0
MS = 1_000_000
ONE_RECORD = bytes(70)  # nobody looks into it


def times_of(*exchanges: Exchange) -> list[ResponseTime | None]:
    known = Watermarks()
    return [response_time(ExchangeView(exchange), known) for exchange in exchanges]


def fetch(
    talk: Talk, took: int, offset: int = 5, mark: int = 5, records: bytes | None = None, max_wait: int = 500,
    min_bytes: int = 1, version: int = 7, error: int = 0, isolation: int = 0, stable: int = -1,
) -> Exchange:  # fmt: skip
    asked = {"partition": 0, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": 1 << 20}
    told = {
        "partition_index": 0, "error_code": 0, "high_watermark": mark, "last_stable_offset": stable,
        "log_start_offset": 0, "aborted_transactions": None, "records": records,
    }  # fmt: skip
    body = {
        "replica_id": -1, "max_wait_ms": max_wait, "min_bytes": min_bytes, "max_bytes": 1 << 20,
        "isolation_level": isolation, "session_id": 0, "session_epoch": -1,
        "topics": [{"topic": "t", "partitions": [asked]}], "forgotten_topics_data": [],
    }  # fmt: skip
    answer = {
        "throttle_time_ms": 0, "error_code": error, "session_id": 0,
        "responses": [] if error else [{"topic": "t", "partitions": [told]}],
    }  # fmt: skip
    talk.now += 1000
    return talk.ask(FETCH, version, body, answer, at=talk.now, took=took)


def metadata(talk: Talk, version: int, throttle_ms: int, took: int) -> Exchange:
    body: dict[str, Any] = {"topics": [], "allow_auto_topic_creation": True}
    answer = {
        "throttle_time_ms": throttle_ms,
        "brokers": [],
        "cluster_id": None,
        "controller_id": 1,
        "topics": [],
    }
    return talk.ask(METADATA, version, body, answer, took=took)


def test_an_empty_fetch_waited() -> None:
    assert times_of(fetch(Talk(), 503)) == [ResponseTime(503 * MS, 3 * MS, 0, 500 * MS)]


def test_a_little_early_is_in_time() -> None:
    assert times_of(fetch(Talk(), 497)) == [ResponseTime(497 * MS, 0, 0, 497 * MS)]


def test_a_fetch_in_line_waits_from_when_the_broker_reads_it() -> None:
    exchange = fetch(Talk(), 803)
    assert exchange.request is not None
    exchange.answered_before_ns = exchange.request.end_time_ns + 300 * MS
    assert times_of(exchange) == [ResponseTime(803 * MS, 3 * MS, 0, 500 * MS, in_line=300 * MS)]
    exchange.answered_before_ns = exchange.request.end_time_ns + 760 * MS
    assert times_of(exchange) == [ResponseTime(803 * MS, 43 * MS, 0, 0, empty_early=True, in_line=760 * MS)]


def test_a_response_before_the_request_held_nothing_up() -> None:
    exchange = fetch(Talk(), 503)
    assert exchange.request is not None
    exchange.answered_before_ns = exchange.request.end_time_ns - 300 * MS
    assert times_of(exchange) == [ResponseTime(503 * MS, 3 * MS, 0, 500 * MS)]


def test_data_that_came_while_the_fetch_was_held_is_unclear() -> None:
    (found,) = times_of(fetch(Talk(), 200, records=ONE_RECORD, mark=6))
    assert found == ResponseTime(200 * MS, None, 0, 0)
    assert found.broker is None


def test_data_that_was_there_was_given_at_once() -> None:
    talk = Talk()
    first, second = fetch(talk, 503, mark=9), fetch(talk, 20, mark=9, records=ONE_RECORD)
    assert times_of(first, second)[1] == ResponseTime(20 * MS, 20 * MS, 0, 0)


def test_what_was_told_later_does_not_count() -> None:
    """The high watermark of an answer that came after the Fetch was sent says nothing of what it found."""
    late = fetch(Talk("10.0.0.9"), 1400, mark=9)
    held = fetch(Talk(), 200, records=ONE_RECORD, mark=9)
    assert times_of(late, held)[1] == ResponseTime(200 * MS, None, 0, 0)


def test_one_record_may_be_too_few() -> None:
    talk = Talk()
    first, second = fetch(talk, 503, mark=9), fetch(talk, 20, mark=9, records=ONE_RECORD, min_bytes=1000)
    found = times_of(first, second)[1]
    assert found is not None
    assert found.broker is None


def test_readers_of_committed_records_wait_for_the_stable_offset() -> None:
    talk = Talk()
    first = fetch(talk, 503, mark=9, stable=5, isolation=1)
    second = fetch(talk, 20, mark=9, stable=9, isolation=1, records=ONE_RECORD)
    found = times_of(first, second)[1]
    assert found is not None
    assert found.broker is None


@pytest.mark.parametrize("options", [{"max_wait": 0}, {"error": 70}])
def test_who_does_not_wait_is_answered_at_once(options: dict[str, int]) -> None:
    assert times_of(fetch(Talk(), 600, **options)) == [ResponseTime(600 * MS, 600 * MS, 0, 0)]


def test_who_is_not_let_wait_is_answered_at_once() -> None:
    assert times_of(fetch(Talk(), 49)) == [ResponseTime(49 * MS, 49 * MS, 0, 0, empty_early=True)]
    assert times_of(fetch(Talk(), 49, min_bytes=0)) == [ResponseTime(49 * MS, 49 * MS, 0, 0)]
    assert times_of(fetch(Talk(), 50)) == [ResponseTime(50 * MS, None, 0, 0)]


@pytest.mark.parametrize(("version", "broker"), [(5, 10), (6, 110)])
def test_throttles_are_in_the_latency_of_old_versions_only(version: int, broker: int) -> None:
    """Metadata 6 came with KIP-219: from it on brokers answer first."""
    assert times_of(metadata(Talk(), version, 100, 110)) == [ResponseTime(110 * MS, broker * MS, 100 * MS, 0)]


def test_no_answer_no_time() -> None:
    talk = Talk()
    assert times_of(talk.ask(METADATA, 5, {"topics": [], "allow_auto_topic_creation": True})) == [None]


def test_tallies_pickle_and_merge() -> None:
    exchange = fetch(Talk(), 503)
    found, whole = Tally(), Tally()
    for tally in (found, whole, whole):
        tally.add(exchange, (3,), times_of(exchange)[0])
    found.merge(pickle.loads(pickle.dumps(found)))
    assert (found.exchanges, found.failed, found.errors) == (2, 2, whole.errors)
    assert found.latency.facts() == whole.latency.facts()
    assert (found.first_ns, found.request_bytes) == (whole.first_ns, whole.request_bytes)
