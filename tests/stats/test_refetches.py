"""Offsets that are fetched again: both engines find the same."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect.model.native import is_compiled, native
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.refetches import Answered, Asked, LastFetch, Refetches, StuckAt
from tests.history.talk import Talk

_ID = bytes(range(16))
_ENGINES = [Refetches, *([native.Refetches] if is_compiled else [])]
Step = tuple[Asked, Answered]


def _stuck(refetches: Any, info: ConnectionInfo, steps: list[Step], apart: int = 10) -> list[StuckAt]:
    seen = refetches()
    for number, (asked, answered) in enumerate(steps):
        seen.see(info, "app", (number * apart, number * apart + 5, 12), asked, answered)
    return [StuckAt(*row) for row in seen.stuck()]


def _info() -> ConnectionInfo:
    return Talk().info


@pytest.mark.parametrize("refetches", _ENGINES)
def test_a_session_does_not_name_what_stays_as_it_is(refetches: Any) -> None:
    info = _info()
    steps: list[Step] = [([(_ID, 0, 7)], [(_ID, 0, b"ab")]), *[([], [(_ID, 0, b"ab")])] * 4]
    assert _stuck(refetches, info, steps) == [StuckAt(info, "app", _ID, 0, 7, 4, 0, 40, 10, True, b"ab")]


@pytest.mark.parametrize("refetches", _ENGINES)
def test_the_longest_run_of_each_partition_is_kept(refetches: Any) -> None:
    info = _info()
    again: Step = ([("t", 1, 5), ("t", 2, 9)], [("t", 1, b"abc"), ("t", 2, b"")])
    after: Step = ([("t", 1, 6)], [("t", 1, b"d")])
    found = _stuck(refetches, info, [again] * 5 + [after] * 2)
    assert found == [StuckAt(info, "app", "t", 1, 5, 4, 0, 40, 15, False, b"abc")]


@pytest.mark.parametrize("refetches", _ENGINES)
def test_requests_that_were_sent_before_the_response_are_no_repeats(refetches: Any) -> None:
    again: Step = ([("t", 1, 5)], [("t", 1, b"abc")])
    assert _stuck(refetches, _info(), [again] * 9, apart=1) == []


@pytest.mark.parametrize("refetches", _ENGINES)
def test_few_responses_are_kept_as_samples(refetches: Any) -> None:
    partitions = range(20)
    again: Step = (
        [("t", number, 5) for number in partitions],
        [("t", number, b"abc") for number in partitions],
    )
    found = _stuck(refetches, _info(), [again] * 9)
    assert [each.partition for each in found] == [*partitions]
    assert sum(bool(each.sample) for each in found) == 16


def _last(refetches: Any, info: ConnectionInfo, steps: list[Step], apart: int = 10) -> LastFetch | None:
    seen = refetches()
    for number, (asked, answered) in enumerate(steps):
        seen.see(info, "app", (number * apart, number * apart + 5, 12), asked, answered)
    row = seen.leave(info)
    assert seen.leave(info) is None
    return None if row is None else LastFetch(*row)


@pytest.mark.parametrize("refetches", _ENGINES)
def test_the_last_fetch_of_a_connection(refetches: Any) -> None:
    info = _info()
    full: Step = ([("t", 1, 5), ("t", 2, 9)], [("t", 1, b""), ("t", 2, b"abc")])
    larger: Step = ([("t", 2, 10)], [("t", 2, b"abcd")])
    none: Step = ([("t", 2, 11)], [("t", 2, b"")])
    assert _last(refetches, info, []) is None
    assert _last(refetches, info, [none] * 3) is None
    assert _last(refetches, info, [none, full]) == LastFetch("app", "t", 2, 9, 15, 3, 0)
    assert _last(refetches, info, [full, larger]) == LastFetch("app", "t", 2, 10, 15, 4, 3)
    found = _last(refetches, info, [larger, full, none, none])
    assert found is not None
    assert (found.size, found.accepted) == (0, 4)
    before = _last(refetches, info, [larger, full], apart=1)  # sent before the response to the first one
    assert before == LastFetch("app", "t", 2, 9, 6, 3, 0)
