"""What is wrong again and again costs little: a finding that is only counted is not made."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from kdissect.decoders.generated import compiled
from kdissect.rules import finding_evidence, judge
from kdissect.rules.judge import Judge
from kdissect.session.events import Event
from tests.rules.scripted_connection import ScriptedConnection, events_of
from tests.support.messages.traffic import request, response

TIMES = 200


def talk(asked: bytes, answered: Callable[[int], bytes], key: int) -> list[Event]:
    conversation = ScriptedConnection()
    for number in range(1, TIMES + 1):
        conversation.talk.client(request(key, 1 if key == 3 else 0, number, asked)).broker(answered(number))
    return list(events_of(conversation.close()))


def without_entries() -> list[Event]:
    """Answers to ApiVersions that list nothing."""
    return talk(b"", lambda number: response(number, struct.pack(">hi", 0, 0)), 18)


def broken() -> list[Event]:
    """Bodies that end early, on both sides."""
    return talk(b"\x7f\xff", lambda number: response(number, b"\0\0\0\1\x7f"), 3)


def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[int]:
    calls = [0]
    real = getattr(where, name)

    def count(*arguments: Any) -> Any:
        calls[0] += 1
        return real(*arguments)

    monkeypatch.setattr(where, name, count)
    return calls


def judged(events: list[Event]) -> Judge:
    found = Judge()
    for event in events:
        found.add(event)
    found.finish()
    return found


@pytest.mark.parametrize("load", [without_entries, broken])
def test_evidence_is_made_once_for_what_is_found_again(
    load: Callable[[], list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = counted(monkeypatch, finding_evidence, "place_of")
    findings = judged(load()).findings.all()
    assert max(finding.count for finding in findings) == TIMES
    # A fault that the size of its frame may explain is made once more, before the first one counts.
    assert len(findings) <= places[0] <= len(findings) + 2


@pytest.mark.parametrize("load", [without_entries, broken])
def test_counts_times_and_evidence_are_those_of_findings_that_are_all_made(
    load: Callable[[], list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(found: Judge) -> list[tuple[object, ...]]:
        return [
            (f.code, f.place, f.count, f.last_time_ns, f.seen, f.consequence) for f in found.findings.all()
        ]

    quickly = told(judged(load()))
    monkeypatch.setattr(judge.FindingLog, "would_repeat", lambda *_: False)
    assert told(judged(load())) == quickly


def test_findings_past_the_most_are_dropped_without_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    places = counted(monkeypatch, finding_evidence, "place_of")
    found = Judge()
    found.findings._most = 1
    for event in broken():
        found.add(event)
    found.finish()
    assert places[0] == 1
    assert found.findings.dropped >= TIMES


def test_why_a_body_does_not_fit_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events = broken()
    looks = counted(monkeypatch, compiled, "_diagnose")
    judged(events)
    assert looks[0] == 2 * TIMES
