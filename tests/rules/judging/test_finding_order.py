"""What a log of findings comes to depends neither on the order they come in nor on the number of logs."""

import random
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Finding
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka28zk_sarama_releases.pcapng"


class _Kept(FindingLog):
    """Keeps every finding as it was when it came."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[tuple[Rule, Finding]] = []

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Each one is looked at."""
        return False

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        self.each.append((rule, finding))


def _each() -> list[tuple[Rule, Finding]]:
    judge = Judge()
    judge.findings = kept = _Kept()
    for event in Dissection(str(CAPTURE)).events():
        judge.add(event)
    judge.finish()
    return kept.each


def _told(log: FindingLog) -> list[tuple[object, ...]]:
    return [(f.code, f.place, f.count, f.last_time_ns, f.seen, f.consequence) for f in log.all()]


@pytest.mark.exhaustive
def test_order_and_parts_do_not_matter() -> None:
    wanted = FindingLog()
    for rule, finding in _each():
        wanted.add(rule, finding)
    assert len(wanted.all()) > 1
    assert max(finding.count for finding in wanted.all()) > 1
    for seed in range(3):
        each = _each()
        random.Random(seed).shuffle(each)
        logs = [FindingLog() for _ in range(3)]
        for number, (rule, finding) in enumerate(each):
            logs[number % 3].add(rule, finding)
        total = FindingLog()
        for log in logs:
            total.merge(log)
        assert _told(total) == _told(wanted)


def test_the_earliest_on_the_wire_stands_for_equal_ones() -> None:
    for finding in (log := _folded()).all():
        assert finding.place.time_ns <= finding.last_time_ns
    times = [finding.place.time_ns for finding in log.all()]
    assert times == sorted(times)


def _folded() -> FindingLog:
    log = FindingLog()
    for rule, finding in reversed(_each()):
        log.add(rule, finding)
    return log
