"""What is offered where."""

import pytest

from kdissect.query.complete import complete
from kdissect.query.fields.named import ERROR
from kdissect.query.syntax.filter_parser import Parser


def offered(text: str) -> list[str]:
    return [candidate.text for candidate in complete(text, len(text)).candidates]


@pytest.mark.parametrize(
    ("text", "among", "not_among"),
    [
        ("", ["api", "latency", "not", "any(", "has finding", "group", "request"], ["and", "request.topics"]),
        ("lat", ["latency", "latency_ns"], ["api"]),
        ("api == pro", ["Produce"], ["Fetch"]),
        ("api ", ["==", "in", "~", "contains", "and", "or"], ["<", "api"]),
        ("latency ", ["<", ">=", "and"], ["~", "contains"]),
        ("request.topics ", ["and"], ["==", "<"]),
        ("latency > ", ["50ms"], ["and"]),
        ("state == ", ["complete", "unanswered"], ["Produce"]),
        ("error in (NONE, NOT_L", ["NOT_LEADER_OR_FOLLOWER"], ["NONE"]),
        ("api in (Fetch", ["Fetch", "FetchSnapshot"], [")"]),
        ("api in (Fetch ", [")"], ["and", "Fetch"]),
        ("api == Fetch ", ["and", "or"], [")"]),
        ("(api == Fetch ", ["and", "or", ")"], ["=="]),
        ("api == Fetch and request.max", ["request.max_bytes", "request.max_wait_ms"], ["request.members"]),
        ("(api == Fetch and not (request.topics.pa", ["request.topics.partitions"], []),
        ("request.topics.partitions.err", [], ["request.topics.partitions.error_code"]),
        ("response.topics.partitions.err", ["response.topics.partitions.error_code"], []),
        ("any(", ["topic"], ["any(", "not"]),
        ("any(topic", ["topic", "topics"], []),
        ("any(topic ", [")"], ["=="]),
        ("has ", ["finding"], []),
        ("has finding FRM0", ["FRM006"], ["BDY001"]),
        ("has finding ", ["FRM006", "and"], []),
        ("error and ", ["api"], ["and"]),
        ("client == ", ["10.0.0.0/8"], []),
    ],
)  # fmt: skip
def test_offers(text: str, among: list[str], not_among: list[str]) -> None:
    found = offered(text)
    assert set(among) <= set(found)
    assert not set(not_among) & set(found)


@pytest.mark.parametrize("text", ["a b c ", 'topic == "or', "latncy > ", "topic ~ ", "number ) ", "=="])
def test_nothing_to_offer(text: str) -> None:
    assert offered(text) == []


def test_narrowed_by_the_api() -> None:
    assert "request.acks" not in offered("api == Fetch and request.")
    assert "request.acks" in offered("api == Fetch or request.")
    last = offered("api == Produce or api == Fetch and request.")
    assert "request.acks" not in last
    assert "request.max_bytes" in last


def test_a_field_one_step_at_a_time() -> None:
    steps = offered("response.")
    assert "response.topics" in steps
    assert "response.topics.name" not in steps


def test_in_the_middle() -> None:
    found = complete("ap == Fetch", 2)
    assert (found.start, found.end) == (0, 2)
    assert {"api", "api_key", "api_version"} == {candidate.text for candidate in found.candidates}


def test_help_and_kind() -> None:
    (latency,) = (c for c in complete("latency", 7).candidates if c.text == "latency")
    assert latency.kind == "field"
    assert "first byte of the response" in latency.help
    kinds = {
        candidate.kind
        for text in ("", "api ", "api == ", "has finding ")
        for candidate in complete(text, 99).candidates
    }
    assert kinds == {"field", "function", "keyword", "operator", "value", "rule"}


def test_every_offer_can_be_taken() -> None:
    """What is offered parses, with something to follow it."""
    for text in ("", "api ", "api == ", "(api == Fetch ", "error and ", "has finding "):
        for candidate in complete(text, len(text)).candidates:
            assert Parser(f"{text}{candidate.text} ").expected == []
            tried = Parser(f"{text}{candidate.text} ")
            try:
                tried.whole()
            except ValueError:
                assert tried.expected, text + candidate.text


def test_errors_say_whether_a_client_may_try_again() -> None:
    """org.apache.kafka.common.protocol.Errors."""
    helps = dict(ERROR.choices())
    assert helps["NOT_LEADER_OR_FOLLOWER"] == "code 6, retriable"
    assert helps["UNKNOWN_SERVER_ERROR"] == "code -1"
