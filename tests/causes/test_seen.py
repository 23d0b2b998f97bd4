"""Times that something took: kept apart only if they are, and few bytes each."""

from __future__ import annotations

from kdissect.causes.evidence.seen import SPANS_KEPT, Seen
from kdissect.model.cause import Packets


def seen(*spans: tuple[int, int]) -> Seen:
    found = Seen()
    for from_ns, until_ns in spans:
        found.add(Packets("c", 1, "Produce v9", from_ns), until_ns - from_ns, until_ns)
    return found


def test_times_that_touch_are_one() -> None:
    one = seen((10, 20), (15, 30), (30, 35), (12, 13), (50, 60))
    assert list(one.spans) == [10, 35, 50, 60]
    assert one.filled_ns == (35, 25, 50)
    assert one.time_ns == 10 + 15 + 5 + 1 + 10


def test_an_earlier_time_stays_apart_and_counts_once() -> None:
    one = seen((20, 30), (10, 25))
    assert list(one.spans) == [20, 30, 10, 25]
    assert one.filled_ns == (20, 20, 20)


def test_times_are_bounded() -> None:
    one = seen(*((10 * at, 10 * at + 1) for at in range(SPANS_KEPT + 5)))
    assert len(one.spans) == 2 * SPANS_KEPT
    assert one.spans.itemsize * len(one.spans) == 16 * SPANS_KEPT
    assert one.times == SPANS_KEPT + 5


def test_nothing_took_no_time() -> None:
    assert Seen().filled_ns == (0, 0, 0)


def test_an_exchange_that_fails_for_two_topics_is_listed_once() -> None:
    one, other = Seen(), Seen()
    for exchange in (1, 1, 2):
        one.add(Packets("c", exchange, "CreateTopics v7", exchange))
    for exchange in (2, 3, 3):
        other.add(Packets("c", exchange, "CreateTopics v7", exchange))
    one.merge(other)
    assert [each.exchange for each in one.evidence] == [1, 2, 3]
    assert one.times == 6
