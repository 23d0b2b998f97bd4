"""Throttle times and whether clients keep them (KIP-219)."""

import pytest

from kdissect.history.connections.throttling import Throttling, client_must_wait
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

METADATA = 3


def ask(talk: Talk, at: int, throttle: int = 0, version: int = 6, took: int = 1) -> Exchange:
    answer = {"throttle_time_ms": throttle, "brokers": [], "topics": []}
    return talk.ask(METADATA, version, {"topics": None}, answer, at=at, took=took)


def fetch(talk: Talk, at: int, took: int, throttle: int, records: bytes = b"", version: int = 11) -> Exchange:
    row = {"partition_index": 0, "records": records, "aborted_transactions": None}
    answer = {"throttle_time_ms": throttle, "responses": [{"topic": "t", "partitions": [row]}]}
    asked = {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]}
    return talk.ask(1, version, asked, answer, at=at, took=took)


@pytest.mark.parametrize(
    ("took", "throttle", "records", "version", "is_wait"),
    [(500, 500, b"", 11, True), (500, 100, b"", 11, False), (500, 500, b"x", 11, False),
     (500, 500, b"", 7, False), (5, 5, b"", 11, False)],
)  # fmt: skip
def test_a_wait_is_no_throttle_from_the_third_on(
    took: int, throttle: int, records: bytes, version: int, is_wait: bool
) -> None:
    """Before version 8 the broker held the answer back for that time, and owes nothing."""
    talk, machine = Talk(), Throttling()
    facts = feed(machine, *(fetch(talk, at, took, throttle, records, version) for at in range(0, 8000, 2000)))
    assert kinds(facts).count("is_wait") == 2 * is_wait


def test_kept() -> None:
    talk = Talk()
    facts = feed(Throttling(), ask(talk, 0, 500), ask(talk, 502), ask(talk, 510))
    assert brief(facts) == [("throttled", None, 500), ("respected", 500, 501)]


def test_ignored_once() -> None:
    talk, machine = Talk(), Throttling()
    facts = feed(machine, ask(talk, 0, 500), ask(talk, 200), ask(talk, 220))
    assert brief(facts) == [("throttled", None, 500), ("ignored", 500, 199)]
    (known,) = machine.connections
    assert (known.throttled, known.total_ms, known.ignored) == (1, 500, 1)


def test_of_two_silences_with_one_end_the_longer_counts() -> None:
    """Two requests were sent at once, and answered 300 ms apart."""
    talk = Talk()
    facts = feed(Throttling(), ask(talk, 0, 500), ask(talk, 0, 200, took=301), ask(talk, 511))
    assert brief(facts)[-1] == ("respected", 500, 510)


def test_what_was_under_way_is_not_judged() -> None:
    talk = Talk()
    assert kinds(feed(Throttling(), ask(talk, 0, 500), ask(talk, 1), ask(talk, 40))) == ["throttled"]


def test_before_kip_219_the_client_owes_nothing() -> None:
    talk = Talk()
    assert kinds(feed(Throttling(), ask(talk, 0, 500, 5), ask(talk, 200, 0, 5))) == ["throttled"]


def test_a_negative_time() -> None:
    assert kinds(feed(Throttling(), ask(Talk(), 0, -1))) == ["negative"]


@pytest.mark.parametrize(
    ("key", "version", "waits"),
    [
        (0, 5, False),
        (0, 6, True),
        (1, 7, False),
        (1, 8, True),
        (68, 0, True),
        (17, 1, False),
        (9999, 0, False),
    ],
)
def test_who_waits(key: int, version: int, waits: bool) -> None:
    assert client_must_wait(key, version) is waits
