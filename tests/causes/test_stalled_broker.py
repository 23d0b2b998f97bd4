"""Brokers that stand still, and silences that look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.model.cause import Diagnosis
from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.traffic import BROKER, CLIENT

_OTHER = "10.0.0.3"
_PRODUCE = {"timeout_ms": 30_000, "topic_data": []}


def _stalls(name: str, port: int, seconds: float, broker: str = "10.0.0.2", *, at: float = 0) -> Talk:
    """Return a member whose fourth heartbeat waits."""
    talk = Talk(name, port, broker).heartbeats(3, name).wait(at)
    talk.beat(name).wait(seconds)
    return talk.answer(12, 0, {"error_code": 0}).wait(1).heartbeats(3, name)


def _produces(name: str, port: int, seconds: float, acks: int, broker: str = "10.0.0.2") -> Talk:
    talk = Talk(name, port, broker).heartbeats(3)
    talk.ask(0, 3, {"transactional_id": None, "acks": acks, **_PRODUCE}).wait(seconds)
    return talk.answer(0, 3, {"responses": [], "throttle_time_ms": 0}).wait(1)


def _fetch(talk: Talk, max_wait_ms: int) -> Talk:
    body = {
        "replica_id": -1,
        "max_wait_ms": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": 1,
        "isolation_level": 0,
    }
    return talk.ask(1, 4, {**body, "topics": []})


def _told(found: Diagnosis) -> set[str]:
    return {*ids(found), *(effect.id for cause in found.causes for effect in cause.effects)}


def test_who_stood_still_for_how_long_and_who_waited(tmp_path: Path) -> None:
    members = [_stalls(f"m{number}", 40000 + number, 5 - number, at=number) for number in range(3)]
    first = what_is_wrong(tmp_path, *members).causes[0]
    assert (first.id, first.certainty) == ("stalled-broker", "likely")
    assert "all take long" in first.why_not_surer
    assert first.sentence == (
        "Broker 10.0.0.2:9092 stood still for 5.00 s: it sent nothing while 3 open requests of 3 clients"
        " waited."
    )


@pytest.mark.parametrize(("ends", "stalls"), [(True, False), (False, True)])
def test_new_connections_that_wait_for_room_prove_no_stall(tmp_path: Path, ends: bool, stalls: bool) -> None:
    """They are served when their client ends others: the listener was at its limit of connections."""
    old = [Talk("leak", 40000 + number).heartbeats(1) for number in range(4)]
    for talk in old:
        talk.wait(9)
        if ends:
            talk.talk.fin(CLIENT).fin(BROKER)
    new = []
    for number in range(2):
        talk = Talk("leak", 41000 + number, begins=2 + number).beat().wait(8.5 - number)
        new.append(talk.answer(12, 0, {"error_code": 0}).wait(1))
    found = what_is_wrong(tmp_path, *old, *new)
    assert ("stalled-broker" in _told(found)) == stalls
    assert ids(found), "the waits are reported"


def test_one_client_alone_does_not_prove_it(tmp_path: Path) -> None:
    other = Talk("elsewhere", 40001, _OTHER).heartbeats(12)
    first = what_is_wrong(tmp_path, _stalls("m", 40000, 5), other).causes[0]
    assert (first.id, first.certainty) == ("stalled-broker", "likely")
    assert "alone waited" in first.why_not_surer


def test_a_broker_that_serves_another_client_works(tmp_path: Path) -> None:
    found = what_is_wrong(tmp_path, _stalls("m", 40000, 5), Talk("other", 40001).heartbeats(14))
    assert "stalled-broker" not in _told(found)


def test_all_brokers_at_one_time_may_be_the_network(tmp_path: Path) -> None:
    members = [
        _stalls(f"{broker}-{number}", 40000 + number, 5 - number, broker, at=number)
        for broker in ("10.0.0.2", _OTHER)
        for number in range(2)
    ]
    (found,) = what_is_wrong(tmp_path, *members).causes
    assert found.sentence.startswith("Brokers 10.0.0.2:9092 and 10.0.0.3:9092 stood still for 5.00 s: they")
    assert "the network" in found.why_not_surer


def test_stalls_that_a_broker_has_alone_are_its_own(tmp_path: Path) -> None:
    """One of two brokers stands still three times, the other one once with it."""

    def repeated(number: int, broker: str, times: int) -> Talk:
        talk = Talk(f"{broker}-{number}", 40000 + number, broker).heartbeats(3)
        for _ in range(times):
            talk.beat().wait(5 - number).answer(12, 0, {"error_code": 0}).wait(6 + number)
        return talk.heartbeats(2)

    first = [repeated(number, "10.0.0.2", 3) for number in range(2)]
    second = [repeated(number, _OTHER, 1) for number in range(2)]
    found = [one for one in what_is_wrong(tmp_path, *first, *second).causes if one.id == "stalled-broker"]
    alone, together = sorted((one.sentence for one in found), key=len)
    assert alone.startswith("Broker 10.0.0.2:9092 stood still 2 times, for 4.00 s at most: it")
    assert together.startswith("Brokers 10.0.0.2:9092 and 10.0.0.3:9092 stood still for 4.00 s: they")


def test_silence_of_everybody_may_be_the_capture(tmp_path: Path) -> None:
    found = what_is_wrong(tmp_path, *(_stalls(f"m{number}", 40000 + number, 5) for number in range(2)))
    assert "the host that captured" in found.causes[0].why_not_surer


def test_a_leader_that_waits_for_a_replica_is_not_blamed(tmp_path: Path) -> None:
    producers = [_produces(f"p{number}", 40000 + number, 5, -1) for number in range(2)]
    replica = [_stalls(f"m{number}", 40010 + number, 5 - number, _OTHER, at=number) for number in range(2)]
    found = [
        one for one in what_is_wrong(tmp_path, *producers, *replica).causes if one.id == "stalled-broker"
    ]
    assert [one.sentence.partition(" stood")[0] for one in found] == ["Broker 10.0.0.3:9092"]


@pytest.mark.parametrize(("acks", "why"), [(-1, "acks=all"), (1, "all take long")])
def test_produces_that_wait_for_replicas_prove_less(tmp_path: Path, acks: int, why: str) -> None:
    talks = [_produces(f"p{number}", 40000 + number, 5, acks) for number in range(2)]
    found = what_is_wrong(tmp_path, *talks, Talk("elsewhere", 40009, _OTHER).heartbeats(12)).causes[0]
    assert found.id == "stalled-broker"
    assert why in found.why_not_surer


def test_what_waits_behind_a_fetch_is_not_the_brokers_time(tmp_path: Path) -> None:
    talks = []
    for number in range(2):
        talk = Talk(f"c{number}", 40000 + number).wait(1)
        _fetch(talk, 6000)
        talk.beat().wait(6)
        talk._next -= 1
        talk.answer(1, 4, {"throttle_time_ms": 0, "responses": []})
        talk._next += 1
        talks.append(talk.answer(12, 0, {"error_code": 0}))
    assert "stalled-broker" not in _told(what_is_wrong(tmp_path, *talks))


def test_joins_and_long_polls_wait_on_purpose(tmp_path: Path) -> None:
    talks = []
    for number in range(2):
        talk = Talk(f"c{number}", 40000 + number).wait(1)
        talks.append(_fetch(talk, 6000).wait(6).answer(1, 4, {"throttle_time_ms": 0, "responses": []}))
    assert "stalled-broker" not in _told(what_is_wrong(tmp_path, *talks))
