"""Fields that are compared with fields."""

from __future__ import annotations

import operator as plain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.query import FilterError, compile_filter
from kdissect.query.values.operators import by_symbol
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES

CAPTURE = CAPTURES / "kafka44_java_share.pcapng"
PLAIN = {
    "==": plain.eq, "!=": plain.ne, "<": plain.lt, "<=": plain.le, ">": plain.gt, ">=": plain.ge,
}  # fmt: skip


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    return list(Dissection(str(CAPTURE)))


def taken(exchanges: list[Exchange], text: str) -> list[Exchange]:
    test = compile_filter(text).bind()
    return [each for each in exchanges if test(each)]


_NUMBERS = st.lists(st.integers(-3, 3), min_size=1, max_size=4)


@given(st.sampled_from(list(PLAIN)), _NUMBERS, _NUMBERS, st.booleans())
def test_values_are_compared_in_pairs(
    symbol: str, values: list[int], others: list[int], needs_all: bool
) -> None:
    operator = by_symbol(symbol)
    assert operator is not None
    results = [PLAIN[symbol](one, other) for one in values for other in others]
    assert operator.holds(values, others, needs_all) is (all(results) if needs_all else any(results))


def test_units_are_made_equal(exchanges: list[Exchange]) -> None:
    found = taken(exchanges, "request.max_wait_ms <= latency")
    expected = [
        each
        for each in exchanges
        if each.latency_ns is not None
        and (body := each.bodies()[0]) is not None
        and (wait := getattr(body.value, "max_wait_ms", None)) is not None
        and wait * 1_000_000 <= each.latency_ns
    ]
    assert 0 < len(found) < len(taken(exchanges, "request.max_wait_ms"))
    assert found == expected


def test_sizes(exchanges: list[Exchange]) -> None:
    bigger = taken(exchanges, "request.bytes > response.bytes")
    assert 0 < len(bigger) < len(exchanges)
    assert bigger == [
        each
        for each in exchanges
        if each.request and each.response and each.request.bytes_on_wire > each.response.bytes_on_wire
    ]


def test_timestamps_and_times(exchanges: list[Exchange]) -> None:
    """Records are written before they are read."""
    assert taken(exchanges, "api == ShareFetch and batch.max_timestamp < response.time")
    assert not taken(exchanges, "api == ShareFetch and batch.max_timestamp > response.time")


def test_all_and_null(exchanges: list[Exchange]) -> None:
    in_all = taken(exchanges, "all(client.port) != broker.port")
    assert in_all == exchanges
    assert not taken(exchanges, "client.port == broker.port")
    assert not taken(exchanges, "request.max_wait_ms < delay and not delay"), "null passes nothing"


def test_texts_stay_texts(exchanges: list[Exchange]) -> None:
    assert not taken(exchanges, "client_id == latency"), "a text that is the name of a field"
    assert compile_filter("latency > delay").pushdown == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "latency > request.bytes",
            "column 11: latency and request.bytes cannot be compared: duration and size",
        ),
        ("latency > nothing", "column 11: 'nothing' is no duration"),
        ('latency > "delay"', "column 11: 'delay' is no duration"),
        ("latency in (delay, 5ms)", "column 13: 'delay' is no duration"),
        ("request.acks < request.transactional_id", "no value 'request.transactional_id'"),
    ],
)
def test_what_cannot_be_compared(text: str, why: str) -> None:
    with pytest.raises(FilterError) as error:
        compile_filter(text)
    assert why in error.value.render()


def test_a_filter_is_printed_as_it_was(exchanges: list[Exchange]) -> None:
    text = "not latency > delay and request.bytes != response.bytes"
    again: Any = str(compile_filter(text))
    assert taken(exchanges, again) == taken(exchanges, text)
