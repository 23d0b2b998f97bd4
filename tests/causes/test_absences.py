"""One absence of a broker is one cause: from the connections that it ends to its return."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.diagnose import found_by
from kdissect.causes.evidence.absences import Absence, absences_of
from kdissect.causes.evidence.links import Ended, Link, LinkKey
from kdissect.causes.explain import explain
from kdissect.causes.registry import ALL_CAUSES
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.cause import FoundCause
from kdissect.session.identities import Identities
from kdissect.session.info import ConnectionKind
from kdissect.session.problem import Problem, Reason
from tests.causes.diagnosing import capture, diagnosed, gathered_from
from tests.causes.fixtures.boundaries import (
    BROKER_2,
    _ended,
    _failed,
    _link,
    _made,
    _served,
    _starts,
    _two_listeners,
)
from tests.causes.fixtures.case import BROKER, NOTHING, SECOND, WHO, Change, Made, gathered
from tests.history.talk import MS, START_NS, Talk
from tests.support.console import CAPTURES

FAULTS = CAPTURES / "faults" / "recorded"
PLACE = "", BROKER


def absences(
    accepted: tuple[float, ...] = (),
    ended: tuple[tuple[float, str], ...] = (),
    refused: tuple[float, ...] = (),
) -> list[Absence]:
    """Absences of a broker, with times in seconds; `ended` has the ids of connections, too."""
    link = Link()
    link.starts = [(int(at * SECOND), f"c{number}") for number, at in enumerate(accepted)]
    link.ended = [Ended(int(at * SECOND), name, 0, "fin") for at, name in ended]
    tries: list[Any] = [
        ConnectionProblem(SimpleNamespace(start_ns=int(at * SECOND)), Problem(Reason.REFUSED, "", 0), True)  # type: ignore[arg-type]
        for at in refused
    ]
    return absences_of(PLACE, [(LinkKey("", WHO.address, "orders", BROKER), link)], tries)


TWO = ((10.0, "c0"), (10.01, "c1"))


@pytest.mark.parametrize(
    ("accepted", "ended", "refused", "found"),
    [
        ((1, 2, 20), TWO, (10.5, 19), [(10, 20, 2)]),
        ((1, 2), TWO, (10.5, 19), [(10, 0, 2)]),
        ((1, 2, 20), TWO, (9.5,), [(10, 20, 1)]),  # its listener closes first
        ((1, 2, 9.7, 20), TWO, (9.5,), []),
        ((1, 2, 20), TWO, (8.9,), []),
        # It is back, and others find it away for another reason.
        ((1, 2, 11), TWO, (12,), []),
        # A client comes back while it stops: that connection ends with the others.
        ((1, 2, 10.001, 20), (*TWO, (10.04, "c2")), (11,), [(10, 20, 1)]),
        ((1, 2, 10.001, 20), (*TWO, (10.2, "c2")), (11,), [(10.01, 20, 1)]),
        # Twice.
        ((1, 2, 20, 21, 40), (*TWO, (30, "c2"), (30, "c3")), (12, 31, 32), [(10, 20, 1), (30, 40, 2)]),
    ],
)
def test_where_it_begins_and_ends(
    accepted: tuple[float, ...],
    ended: tuple[tuple[float, str], ...],
    refused: tuple[float, ...],
    found: list[tuple[float, float, int]],
) -> None:
    assert [
        (one.from_ns / SECOND, one.back_ns / SECOND, len(one.refused))
        for one in absences(accepted, ended, refused)
    ] == found


def test_an_absence_without_a_return_lasts_as_long_as_somebody_finds_it() -> None:
    (one,) = absences((1, 2), TWO, (10.5, 19))
    assert one.until_ns == 19 * SECOND
    (one,) = absences((1, 2), TWO, (9.5,))
    assert one.until_ns == int(10.01 * SECOND)


@pytest.mark.parametrize(
    ("name", "sentence", "since"),
    [
        (
            "version-removed-by-upgrade-1",
            "ended 5 connections within 6.04 ms and refused new ones 321 times",
            9.1,
        ),
        (
            "version-removed-by-upgrade-2",
            "ended 5 connections within 611 us and refused new ones 33 times",
            48.7,
        ),
    ],
)
def test_closes_for_another_reason_are_no_stop(name: str, sentence: str, since: float) -> None:
    """A broker that comes back closes behind each request of an old client, and serves others meanwhile."""
    found = diagnosed(FAULTS / f"{name}.pcapng.gz").causes
    (stopped,) = [one for one in found if one.id == "broker-restarted"]
    assert sentence in stopped.sentence
    assert int(stopped.since_ns / SECOND * 10) % 600 == int(since * 10)
    assert "it was away for" in stopped.sentence
    assert "connection-refused" not in {one.id for one in found}
    (removed,) = [one for one in found if one.id == "version-removed-by-upgrade"]
    assert [one.id for one in removed.effects if one.id == "broker-closes"] == ["broker-closes"]


def test_each_absence_is_one_cause() -> None:
    """Brokers are stopped and started one after the other; the first one twice."""
    found = diagnosed(capture("kafka39_zookeeper_pair")).causes
    stopped = [one for one in found if one.id == "broker-restarted"]
    brokers = [one.sentence.split()[1] for one in stopped]
    assert sorted(brokers) == ["127.0.0.1:19015", "127.0.0.1:19015", "127.0.0.1:19025", "127.0.0.1:19035"]
    refused = [one for one in found if one.id == "connection-refused"]
    for one in refused:
        (broker,) = [party.name for party in one.parties if party.kind == "broker"]
        own = [each for each in stopped if each.sentence.split()[1] == broker]
        assert all(one.until_ns < each.since_ns for each in own)
        assert one.why_not_surer.startswith("Kafka responds there at other times")


def _stops(*more: Change, refused_s: float = 12, back_s: float = 30) -> Made:
    seen = Made(gathered(NOTHING))
    _made(
        _link(ended=_ended(10, 10), starts=_starts(SECOND, int(back_s * SECOND))),
        _failed(Reason.REFUSED, 4, start_s=refused_s),
        *more,
    )(seen)
    return seen


def _found(seen: Made) -> dict[str, FoundCause]:
    return {one.id: one for one in found_by(ALL_CAUSES, seen)}


def test_a_broker_that_responds_did_not_stop() -> None:
    found = _found(_stops(_served(9, 31)))
    assert "broker-restarted" in found
    assert "connection-refused" not in found
    seen = _stops(_served(9, 13, 14, 31))
    found = _found(seen)
    assert "broker-restarted" not in found
    assert [one.against for one in seen.refuted] == [f"{BROKER} sent responses meanwhile"]
    refused = found["connection-refused"]
    assert refused.sentence.endswith("and was refused. It responded to others meanwhile.")
    assert refused.why_not_surer == "others use it meanwhile: a firewall between may refuse this host alone"


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ("b", "20.00 s later a broker of another cluster answered at its address: 'b' instead of 'a'"),
        ("a", "it was away for 20.00 s"),
    ],
)
def test_a_broker_of_another_cluster_did_not_come_back(later: str, said: str) -> None:
    seen, identities = _stops(), Identities()
    host, _, port = BROKER.rpartition(":")
    for at_s, cluster in ((5, "a"), (31, later)):
        talk = Talk(broker=host, capture_set="a")
        assert talk.info.broker.port == int(port)
        talk.info.identities, talk.info.kind, talk.info.complete = identities, ConnectionKind.KAFKA, 1
        answer = {
            "throttle_time_ms": 0,
            "brokers": [],
            "cluster_id": cluster,
            "controller_id": 1,
            "topics": [],
        }
        asked = {"topics": [], "allow_auto_topic_creation": False}
        identities.learn(talk.ask(3, 4, asked, answer, at=at_s * 1000 - START_NS // MS))
        seen.gathering.mixups.add(talk.info)
    sentence = _found(seen)["broker-restarted"].sentence
    assert said in sentence


@pytest.mark.parametrize(
    ("of", "is_one"),
    [
        ({}, True),
        ({"other_s": 18}, True),
        ({"other_s": 18.001}, False),
        ({"other": "10.0.0.2:9093"}, False),
        ({"nodes": {BROKER: 1, "10.0.0.1:9093": 1}}, True),
        ({"nodes": {BROKER: 1, "10.0.0.1:9093": 2}}, False),
        ({"back_s": 10.9}, False),
        ({"back_s": 11}, True),
    ],
)
def test_listeners_of_one_host_stop_together(of: dict[str, Any], is_one: bool) -> None:
    """What one of them refuses is no address without a listener."""
    seen = Made(gathered(NOTHING))
    _two_listeners(**of)(seen)
    found = _found(seen)
    assert ("connection-refused" not in found) is is_one
    stopped = found.get("broker-restarted")
    assert (stopped is not None and "which stopped with it" in stopped.sentence) is is_one


def test_a_silence_of_less_than_a_second_is_not_known() -> None:
    soon = _served(9.2, 9.8, 10.1, 11)
    assert "broker-restarted" in _found(_stops(soon, refused_s=10.2, back_s=10.9))
    assert "broker-restarted" not in _found(_stops(soon, refused_s=10.2, back_s=11))


def _refused(
    *starts_s: float, is_kafka: bool = True, accepted: tuple[float, ...] = (), more: Any = None
) -> FoundCause:
    seen = Made(gathered(NOTHING))
    _made(
        _link(starts=_starts(*(int(at * SECOND) for at in accepted))) if accepted else _link(broker=BROKER_2),
        *(_failed(Reason.REFUSED, 2, is_kafka, start_s=at) for at in starts_s),
        *(() if more is None else (more,)),
    )(seen)
    return _found(seen)["connection-refused"]


def test_two_absences_in_one_row_have_their_times() -> None:
    one = _refused(1, 20, accepted=(10, 30))
    assert one.times == 4
    assert one.sentence == (
        f"10.0.0.5 tried 4 times to connect to {BROKER} and was refused. In between it accepted connections:"
        " no process listened there from 1970-01-01T00:00:01.000000000Z (2 times in 1.00 s) and"
        " 1970-01-01T00:00:20.000000000Z (2 times in 1.00 s)."
    )
    assert one.why_not_surer.startswith("Kafka responds there at other times")


def test_it_is_sure_where_nothing_ever_listens_at_a_port_of_kafka() -> None:
    assert _refused(1, 20, is_kafka=False).why_not_surer == ""
    others = "127.0.0.1:31263"
    unknown = diagnosed(FAULTS / "connection-refused-1.pcapng.gz").causes[0]
    assert others in unknown.sentence
    assert unknown.why_not_surer == "nothing in the capture shows that Kafka listens there"


def test_explain_names_the_law() -> None:
    path = FAULTS / "broker-restarted-1.pcapng.gz"
    found = explain(gathered_from(path), [str(path)], "broker-restarted")
    assert "a broker that sends responses did not stop" in found.laws
