"""Captures of scenarios in which nothing is wrong: what is told there is a false alarm."""

import pytest

from captures.faults.trust import healthy
from tests.causes.diagnosing import capture, diagnosed, ids

# By their stories and truth files: clients of every kind at work, without a fault that was brought about. Not
# tansu_kp202_admin: tansu answers OffsetFetch with a body that ends early, and the client leaves.
HEALTHY = tuple(healthy())
# Capture, cause, and why it is told: docs/why.md prints them. There may be one.
FALSE_ALARMS: tuple[tuple[str, str, str], ...] = ()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_told_of_healthy_captures(name: str) -> None:
    expected = [cause for capture_name, cause, _ in FALSE_ALARMS if capture_name == name]
    assert ids(diagnosed(capture(name))) == expected


def test_there_is_one_false_alarm_at_most() -> None:
    assert len(HEALTHY) >= 30
    assert len(FALSE_ALARMS) <= 1
