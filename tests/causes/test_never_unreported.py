"""Failures that end or repeat in a way that is normal once are reported all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.console import CAPTURES, run
from tests.support.messages.traffic import BROKER, CLIENT

JOIN = {
    "group_id": "g", "session_timeout_ms": 10_000, "member_id": "", "protocol_type": "consumer",
    "rebalance_timeout_ms": 60_000, "group_instance_id": None,
    "protocols": [{"name": "range", "metadata": b""}],
}  # fmt: skip
NO_ID = {
    "throttle_time_ms": 0, "error_code": 79, "generation_id": -1, "protocol_name": "", "leader": "",
    "member_id": "m", "members": [],
}  # fmt: skip
LIST = {"topics": [{"name": "t"}]}
HELD = {
    "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0,
    "topics": [{"topic": "t", "partitions": [
        {"partition": 0, "fetch_offset": 1, "partition_max_bytes": 1000}]}],
}  # fmt: skip

PRODUCE = {"transactional_id": None, "acks": 1, "timeout_ms": 30_000, "topic_data": []}


def others() -> Talk:
    """Another client works for a minute."""
    return Talk("healthy", 41000).heartbeats(60)


def ended(count: int, key: int, version: int, body: dict[str, object], side: int, after: float) -> list[Talk]:
    """Return connections that one end closes `after` seconds after a request, one after the other."""
    found = []
    for number in range(count):
        talk = Talk(port=40000 + number, begins=1 + 2 * number).ask(key, version, body).wait(after)
        talk.talk.fin(side).fin(1 - side)
        found.append(talk)
    return found


@pytest.mark.parametrize(("times", "is_told"), [(2, False), (3, True)])
def test_a_client_that_never_waits_for_a_response(times: int, is_told: bool, tmp_path: Path) -> None:
    """Its timeout is half a second, and the broker needs longer."""
    found = what_is_wrong(tmp_path, others(), *ended(times, 3, 1, LIST, CLIENT, 0.5))
    assert bool(ids(found)) == is_told


@pytest.mark.parametrize(("times", "is_told"), [(2, False), (3, True)])
def test_a_member_that_never_comes_back_with_its_id(times: int, is_told: bool, tmp_path: Path) -> None:
    talk = Talk()
    for _ in range(times):
        talk.ask(11, 5, JOIN).answer(11, 5, NO_ID).wait(1)
    assert ids(what_is_wrong(tmp_path, others(), talk)) == ["requests-fail"] * is_told


@pytest.mark.parametrize(("after", "is_told"), [(200, False), (400, True)])
def test_a_rebalance_that_never_ends(after: int, is_told: bool, tmp_path: Path) -> None:
    """The client leaves when its patience is over; a coordinator holds JoinGroup for a rebalance timeout."""
    found = what_is_wrong(tmp_path, others(), *ended(1, 11, 5, JOIN, CLIENT, after))
    assert ("requests-unanswered" in ids(found)) == is_told


def test_a_broker_that_ends_connections_while_a_fetch_waits(tmp_path: Path) -> None:
    """Three times: the client does not get on."""
    found = what_is_wrong(tmp_path, others(), *ended(3, 1, 4, HELD, BROKER, 0.2))
    assert ids(found)


def test_metadata_that_takes_nine_seconds_again_and_again(tmp_path: Path) -> None:
    talk = Talk()
    answer = {"brokers": [], "controller_id": 1, "topics": []}
    for _ in range(11):
        talk.ask(3, 1, LIST).wait(9).answer(3, 1, answer)
    assert ids(what_is_wrong(tmp_path, Talk("healthy", 41000).heartbeats(110), talk))


def test_a_filter_that_takes_no_exchange_judges_nothing() -> None:
    ran = run("why", CAPTURES / "kafka44_java_groups.pcapng", "-Y", 'client_id == "nobody"')
    assert ran.out.startswith(
        "kdissect could not judge anything: no exchange of the capture matches the filter"
    )


@pytest.mark.parametrize("minutes", [29, 31, 45])
def test_a_request_on_a_connection_that_is_evicted(minutes: int, tmp_path: Path) -> None:
    """A connection that is silent for half an hour is over: the wait until then counts."""
    busy = Talk("healthy", 41000)
    for _ in range(minutes):
        busy.heartbeats(1).wait(59)
    talk = Talk(begins=1).heartbeats(3).ask(0, 3, PRODUCE)
    found = what_is_wrong(tmp_path, busy, talk)
    assert ids(found) == ["requests-unanswered"]
    (cause,) = found.causes
    assert cause.cost.time_ns > 27 * 60 * 1_000_000_000
