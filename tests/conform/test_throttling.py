"""Throttling: which request after a throttled response shows that a client waited, or that it did not."""

import threading

import pytest

from kdissect.conform.client.cluster_state import ClusterState
from kdissect.conform.client.exchange_log import FETCH, FIND_COORDINATOR, METADATA, Asked
from kdissect.conform.client.expectations import Scene, respects_throttle
from kdissect.conform.statement_results import Place
from kdissect.model.frame import RequestHeader

Row = tuple[int, float, float, int]
# API, sent at, answered at, throttle time.
STARTED_WITH_TWO: list[Row] = [(METADATA, 0, 0.1, 0), (FIND_COORDINATOR, 0.05, 0.2, 0)]
ONE_BY_ONE: list[Row] = [(FETCH, 1, 1.5, 0), (FETCH, 2, 2.5, 2000)]
SEVERAL: list[Row] = [(FETCH, 1, 1.5, 0), (FETCH, 1.2, 2.5, 2000)]


def seen(*rows: Row) -> bool | None:
    asked = []
    for number, (key, at, replied_at, throttle) in enumerate(rows):
        one = Asked(number, 1, Place(40000, 9092, number), RequestHeader(key, 12, number, "c", 0), None, at)
        one.replied_at, one.reply = replied_at, {"throttle_time_ms": throttle}
        asked.append(one)
    state = ClusterState({}, {}, threading.Condition(), lambda: False)
    trigger = next(one for one in asked if one.reply["throttle_time_ms"])
    found = respects_throttle(Scene(asked, trigger, state, ()))
    return None if found is None else found.passed


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        (ONE_BY_ONE, [], None),
        (ONE_BY_ONE, [(FETCH, 2.501, 5, 0)], False),
        (ONE_BY_ONE, [(FETCH, 4.5, 5, 0)], True),
        (STARTED_WITH_TWO + ONE_BY_ONE, [(FETCH, 2.501, 4.5, 0), (FETCH, 4.5, 5, 0)], False),
        (STARTED_WITH_TWO + ONE_BY_ONE, [(METADATA, 2.501, 4.5, 0)], None),
        (ONE_BY_ONE, [(METADATA, 2.6, 4.5, 0)], None),
        (ONE_BY_ONE, [(METADATA, 2.8, 4.5, 0)], False),
        (SEVERAL, [(FETCH, 2.501, 4.5, 0)], None),
        (SEVERAL, [(FETCH, 3, 4.5, 0)], False),
    ],
)  # fmt: skip
def test_only_requests_that_may_be_on_the_way_are_left_out(
    before: list[Row], after: list[Row], passed: bool | None
) -> None:
    assert seen(*before, *after) is passed
