"""What was judged for whom."""

import pytest

from kdissect.engine.analyzer import Analyzer
from kdissect.model.finding import Who
from kdissect.rules.run_coverage import rule_coverage, traffic_counts
from kdissect.rules.run_coverage.rule_coverage import Exercises, Software
from kdissect.rules.run_coverage.traffic_counts import Traffic
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.rules.scripted_connection import ScriptedConnection, judged


def exchange() -> Exchange:
    analyzer = Analyzer()
    events = [event for packet in ScriptedConnection().close() for event in analyzer.feed(packet)]
    (found,) = [event for event in [*events, *analyzer.close()] if isinstance(event, Exchange)]
    return found


def test_subjects_count_for_the_software_of_the_connection() -> None:
    talk = ScriptedConnection().exchange("Metadata", 9, {"topics": []}, {"brokers": [], "topics": []})
    exercises = judged(talk.close()).coverage.exercises
    clients = exercises.by_software(Who.CLIENT)
    assert list(clients) == [Software(Who.CLIENT, "tester", "1.0")]
    (counts,) = clients.values()
    assert counts["FRM006"] == 4  # two requests and two responses
    assert exercises.by_software(Who.BROKER) == {Software(Who.BROKER): counts}
    assert exercises.rules() == counts


def test_made_up_software_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_coverage, "MAX_PAIRS", 3)
    exercises, info = Exercises({}), exchange().connection
    for number in range(10):
        info.software_name = f"made up {number}"
        exercises.at(info)
        exercises.now.rules["FRM001"] += 1
    assert len(exercises.pairs) == 4
    assert exercises.rules()["FRM001"] == 10
    assert exercises.by_software(Who.CLIENT)[Software(Who.CLIENT)]["FRM001"] == 7


def test_made_up_versions_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_counts, "MAX_KINDS", 3)
    held, one = Traffic(), exchange()
    for version in range(10):
        one.api_version = version
        held.add(one)
    assert len(held.latencies) == 4
    assert held.latencies[None, None].count == 7


def test_numbers_that_wait_are_counted_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    one, pieces = exchange(), []
    for waiting in (1, 3, 1000):
        monkeypatch.setattr(traffic_counts, "MOST_WAITING", waiting)
        held = Traffic()
        for _ in range(7):
            held.add(one)
        (latencies,) = held.latencies.values()
        pieces.append((latencies.facts(), held.times.row()))
        total = Traffic()
        held.add(one)
        total.merge(held)
        assert [found.count for found in total.latencies.values()] == [8]
    assert pieces[0] == pieces[1] == pieces[2]


def test_labels_are_part_of_the_name() -> None:
    exercises = Exercises({"client": "ours"})
    info: ConnectionInfo = exchange().connection
    exercises.at(info)
    assert list(exercises.by_software(Who.CLIENT)) == [Software(Who.CLIENT, "tester", "1.0", "ours")]
