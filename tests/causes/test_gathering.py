"""What one pass gathers: which exchanges and connections count, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.causes.evidence.gathering import FACTS_KEPT, PROBLEMS_KEPT, Gathering
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Problem, Reason
from kdissect.stats.client import Clients
from tests.causes.fixtures.boundaries import _connection
from tests.causes.talks import Talk
from tests.support.packets.pcaps import write_pcap

Wants = Callable[[Exchange], bool]


def _write(folder: Path) -> Path:
    """Return two clients, and a connection without Kafka."""
    first = Talk("a", 40000).heartbeats(5)
    second = (
        Talk("b", 40001).heartbeats(3).ask(12, 0, {"group_id": "g", "generation_id": 1, "member_id": "m"})
    )
    second.answer(12, 0, {"error_code": 25})
    third = Talk("c", 40002)
    third.talk.rst(0)
    packets = [packet for one in (first, second, third) for packet in one.talk.packets]
    return write_pcap(folder / "made.pcap", sorted(packets, key=lambda one: one.time_ns))


def _gathered(path: Path, wants: Wants | None = None, in_blocks: bool = True) -> Gathering:
    dissection = Dissection([str(path)])
    found = Gathering(dissection.topics, wants)

    def note(error: Exception, event: object) -> None:
        raise error

    for events in dissection.batches():
        found.take(events if in_blocks else list(events), note)
    found.finish()
    return found


def _counts(found: Gathering) -> dict[str, Any]:
    return {
        "links": {key.client_id: link.exchanges for key, link in found.links.items()},
        "traffic": {row[1]: tally.exchanges for row, tally in found.traffic.rows.items()},
        "errors": [(key.client.client_id, key.code, at.times) for key, at in found.log.errors.items()],
        "kafka": found.kafka_connections,
        "kinds": dict(found.kinds),
        "span": (found.first_ns > 0, found.last_ns > found.first_ns),
        "problems": [one.problem.reason for one in found.problems],
        "groups": [group for _, group in dict(found.groups.logs.items())],
    }


ALL = {
    "links": {"a": 5, "b": 4},
    "traffic": {"a": 5, "b": 4},
    "errors": [("b", 25, 1)],
    "kafka": 2,
    "kinds": {"kafka": 2, "no_data": 1},
    "span": (True, True),
    "problems": [Reason.PROBE],
    "groups": ["g"],
}


def test_what_counts(tmp_path: Path) -> None:
    path = _write(tmp_path)
    assert _counts(_gathered(path)) == ALL
    assert _counts(_gathered(path, in_blocks=False)) == ALL
    every = _counts(_gathered(path, lambda exchange: True))
    assert every == ALL | {"problems": []}  # a connection counts if one of its exchanges does
    nothing = ALL | {"links": {}, "traffic": {}, "errors": [], "kafka": 0, "problems": []}
    assert _counts(_gathered(path, lambda exchange: False)) == nothing | {"groups": ["g"]}
    one = _counts(_gathered(path, lambda exchange: exchange.client_id == "b"))
    assert one == nothing | {"links": {"b": 4}, "traffic": {"b": 4}, "errors": [("b", 25, 1)], "kafka": 1}


def test_the_first_and_the_last_time_are_those_of_connections(tmp_path: Path) -> None:
    found = _gathered(_write(tmp_path))
    starts = [start for _, link in found.links.items() for start, _ in link.starts]
    assert found.first_ns == min(starts)
    assert found.last_ns == max(link.last_ns for _, link in found.links.items())


def test_what_raises_is_noted_and_the_rest_is_taken(tmp_path: Path) -> None:
    events = [event for batch in Dissection([str(_write(tmp_path))]).batches() for event in batch]
    first = next(event for event in events if isinstance(event, Exchange))
    noted: list[object] = []

    def wants(exchange: Exchange) -> bool:
        if exchange is first:
            raise ValueError
        return True

    found = Gathering(TopicNames(), wants)
    events.insert(1, SimpleNamespace(connection=SimpleNamespace(same_as="another")))
    found.take(events, lambda error, event: noted.append(event))
    found.finish()
    assert noted == [first]
    assert sorted(_counts(found)["traffic"].values()) == [4, 4]


@pytest.mark.parametrize(
    ("kinds", "went_back"),
    [
        ([], False),
        ([AnomalyKind.TIME_STEP_BACK], True),
        ([AnomalyKind.GAP, AnomalyKind.TIME_STEP_BACK], True),
        ([AnomalyKind.GAP], False),
    ],
)
def test_a_clock_that_was_set_back(kinds: list[AnomalyKind], went_back: bool) -> None:
    found = Gathering(TopicNames())
    assert not found.clock.went_back
    file = SimpleNamespace(anomalies=[SimpleNamespace(kind=kind) for kind in kinds])
    found.note_clock([SimpleNamespace(anomalies=[]), file])  # type: ignore[list-item]
    assert found.clock.went_back is went_back
    found.note_clock([])
    assert found.clock.went_back is went_back


def test_so_many_facts_and_problems_are_kept() -> None:
    found = Gathering(TopicNames())
    problem = ConnectionProblem(_connection(), Problem(Reason.PROBE, "fact"), is_kafka=False)
    view: Any = SimpleNamespace(info=_connection())
    fact: Any = SimpleNamespace(kind=Reason.PROBE)
    for number in range(FACTS_KEPT + 1):
        found._tell(fact, view if number else None)
    for _ in range(PROBLEMS_KEPT + 1):
        found._report(problem)
    facts = found.facts["Reason.probe"]
    assert (len(facts), len(found.problems)) == (FACTS_KEPT, PROBLEMS_KEPT)
    assert (facts[0].client, facts[0].broker) == (None, "")
    assert (facts[1].client is not None, facts[1].broker) == (True, "10.0.0.1:9092")
    found.log.wanted = False
    found._tell(SimpleNamespace(kind=Reason.HTTP), view)  # type: ignore[arg-type]
    assert found.facts["Reason.http"] == []


@pytest.mark.parametrize("in_blocks", [True, False])
def test_each_of_several_equal_exchanges_counts(tmp_path: Path, in_blocks: bool) -> None:
    talk = Talk("a", 40000)
    for _ in range(5):
        talk.beat().answer(12, 0, {"error_code": 25}).wait(0.01)
    found = _gathered(write_pcap(tmp_path / "made.pcap", talk.talk.packets), in_blocks=in_blocks)
    assert [at.times for at in found.log.errors] == [5]


def test_connections_of_one_client_share_it() -> None:
    """Clients do not keep their connections in memory."""
    clients = Clients()
    first = clients.of(_connection(), "app")
    assert clients.of(_connection(), "app") is first
    assert clients.of(_connection(), "other") != first
