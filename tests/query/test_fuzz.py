"""Nothing but FilterError comes out of any text, and nothing at all out of a filter that was compiled."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.query import FilterError, compile_filter
from kdissect.query.binding import Context
from kdissect.query.complete import complete
from kdissect.query.syntax.filter_parser import parse
from kdissect.query.syntax.filter_tokens import quoted
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES

FIELDS = [
    "api", "api_key", "version", "latency", "latency_ns", "topic", "topics", "topic_id", "client",
    "client.ip",
    "host", "time", "error", "errors", "state", "kind", "number", "request", "response", "request.bytes",
    "response.body", "request.error", "client_id", "group", "partition", "throttle", "closed.how",
    "anomalies",
    "anomaly", "response.**.error_code", "request.topics.name", "request.topics", "response.topics.topic_id",
    "request.topics.partitions", "request.*", "response.**", "request.acks", "request.auth_bytes", "no_field",
    "request.allow_auto_topic_creation", "response.node_endpoints.port", "request.packets.file", "software",
    "batch", "batch.codec", "batch.producer_id", "request.protocols.metadata_decoded.value.topics",
]  # fmt: skip
OPERATORS = [
    "==", "!=", "<", "<=", ">", ">=", "~", "!~", "contains", "matches", "in", "not in", "=", "eq", "in (", "",
]  # fmt: skip
VALUES = [
    "1", "-1", "0x10", "99999999999999999999999", "50ms", "-5s", "1.5m", "10kB", "+1s", "10:00:00",
    "25:61:00",
    "2026-11-21T09:06:44Z", "2026-99-99", "9999-12-31T23:59:59Z", "0001-01-01", "10.0.0.1",
    "10.0.0.0/8", "::/0",
    "[::1]:9092", "true", "null", "NONE", "Produce", "complete", '"a b"', "'('", ".*", "a+", "3..7",
    "1ms..2ms",
    "..", "1..", "1, 2)", "NONE, 3)", "AAAAAAAAAAAAAAAAAAAAAQ", "0xcafe", "\u20ac", "", "'\\x00'",
]  # fmt: skip
JOINERS = ["and", "or", "not", "(", ")", "&&", "||", "!", "any(", "all(", "count(", "has finding", ","]


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    """Return a few exchanges of every API."""
    found: dict[object, Exchange] = {}
    for name in ("kafka44_franz_raw.pcapng", "tansu_rdk216_kip848.pcap", "kafka37_snapshot.pcapng.gz"):
        for exchange in Dissection(str(CAPTURES / name)):
            found.setdefault((exchange.api_key, exchange.state), exchange)
    return list(found.values())[:60]


def run(text: str, exchanges: list[Exchange]) -> None:
    try:
        predicate = compile_filter(text)
    except FilterError as error:
        assert error.render()
        assert 0 <= error.start <= len(text)
        return
    printed = str(predicate)
    assert str(parse(printed)) == printed
    same = pickle.loads(pickle.dumps(predicate))
    assert same == predicate
    context = Context(start_ns=lambda: 10**18, findings_of=lambda _: ("FRM006",), file_names=("a", "b"))
    test, again = predicate.bind(context), compile_filter(printed).bind(context)
    for exchange in exchanges:
        assert test(exchange) is again(exchange)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from(FIELDS + OPERATORS + VALUES + JOINERS), max_size=8).map(" ".join))
def test_random_words(exchanges: list[Exchange], text: str) -> None:
    run(text, exchanges[:4])


def comparisons() -> st.SearchStrategy[str]:
    parts = st.tuples(*map(st.sampled_from, (FIELDS, OPERATORS, VALUES)))
    functions = st.sampled_from(["{}", "{}", "any({})", "all({})", "count({})"])
    return st.builds(lambda f, p: f"{f.format(p[0])} {p[1]} {p[2]}", functions, parts)


def expressions() -> st.SearchStrategy[str]:
    return st.recursive(
        comparisons() | st.sampled_from(FIELDS) | st.just("has finding FRM"),
        lambda inner: (
            inner.map(lambda x: f"not {x}")
            | inner.map(lambda x: f"({x})")
            | st.lists(inner, min_size=2, max_size=3).map(" and ".join)
            | st.lists(inner, min_size=2, max_size=3).map(" or ".join)
        ),
        max_leaves=4,
    )


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(expressions())
def test_random_expressions(exchanges: list[Exchange], text: str) -> None:
    run(text, exchanges)


@settings(max_examples=250, deadline=None)
@given(st.text(max_size=40))
def test_random_text(exchanges: list[Exchange], text: str) -> None:
    run(text, exchanges[:2])


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(FIELDS), st.sampled_from(OPERATORS), st.text(max_size=20), st.booleans())
def test_random_values(
    exchanges: list[Exchange], field: str, operator: str, value: str, is_text: bool
) -> None:
    run(f"{field} {operator} {quoted(value) if is_text else value}", exchanges[:4])


@settings(max_examples=250, deadline=None)
@given(st.text(max_size=30) | expressions(), st.integers(-5, 60))
def test_completion_of_anything(text: str, cursor: int) -> None:
    found = complete(text, cursor)
    assert 0 <= found.start <= found.end <= len(text)
    word = text[found.start : found.end].casefold()
    assert all(candidate.text.casefold().startswith(word) for candidate in found.candidates)


def test_a_field_that_no_api_asked_for_has(exchanges: list[Exchange]) -> None:
    run("not group == 1 and api == 1", exchanges)
    fetches = [exchange for exchange in exchanges if exchange.api_key == 1]
    assert fetches
    assert all(compile_filter("not group == 1 and api == 1").bind(Context())(each) for each in fetches)
    assert not any(compile_filter("group == 1 and api == 1").bind(Context())(each) for each in fetches)
