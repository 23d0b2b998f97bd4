"""Whose transaction holds readers back: those that were open at that time."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect.causes.evidence.exchange_log import Held, HeldKey
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import Cost, Party
from tests.causes.fixtures.case import NOTHING, SECOND, WHO, Made, gathered, several, told

CAUSES = [cause for cause in ALL_CAUSES if cause.id == "hanging-transaction"]


def found(span_s: float = 4, readers: int = 0, **transaction: Any) -> Any:
    """Readers of t-3 are held back from second 1 to second 1 + `span_s`."""
    seen = Made(gathered(NOTHING))
    held = Held()
    held.seen = several(2, int(span_s * SECOND))
    held.seen.first_ns = SECOND
    held.seen.last_ns = int((1 + span_s) * SECOND)
    held.behind = 9
    held.readers = {WHO._replace(client_id=f"r{at}"): None for at in range(readers)}
    seen.gathering.log.held.put(HeldKey("a", "t", 3, 50), held)
    row = {"began": None, "ended": None, "partitions": ["t-3"]} | transaction
    seen.producers = {
        "producers": [],
        "transactional_ids": [{"transactional_id": "x", "client_ids": ["app"], "transactions": [row]}],
    }
    return told(CAUSES, seen)


def time(seconds: int) -> str:
    return f"1970-01-01T00:00:{seconds:02}.000000000Z"


@pytest.mark.parametrize(
    ("transaction", "is_open"),
    [
        ({}, True),
        ({"began": time(5)}, True),
        ({"began": time(6)}, False),
        ({"ended": time(6)}, True),
        ({"ended": time(5)}, False),
        ({"partitions": ["t-4"]}, False),
    ],
)
def test_the_transaction_is_open_when_readers_are_last_held_back(
    transaction: dict[str, Any], is_open: bool
) -> None:
    (one,) = found(**transaction)
    assert ("of transactional id 'x'" in one.sentence) is is_open
    assert (one.why_not_surer == "") is is_open
    ids = {Party("id", "x"), Party("client", "app")} if is_open else set()
    assert one.parties == {Party("topic", "t")} | ids


def test_each_reader_waits() -> None:
    assert [found(readers=count)[0].cost for count in (0, 1, 2)] == [
        Cost(time_ns=factor * 4 * SECOND, records=9) for factor in (1, 1, 2)
    ]


def test_short_transactions_hold_nobody_back() -> None:
    assert len(found(span_s=3)) == 1
    assert found(span_s=2.999) == []
