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


@pytest.mark.parametrize(("cursor", "start", "end", "word"), [
    (-3, 0, 0, "any("), (0, 0, 0, "any("), (1, 0, 1, "api"), (3, 0, 3, "api"), (4, 4, 4, "=="),
    (8, 7, 8, "Produce"), (99, 7, 8, "Produce"),
])  # fmt: skip
def test_places_of_the_cursor(cursor: int, start: int, end: int, word: str) -> None:
    found = complete("api == P", cursor)
    assert (found.start, found.end) == (start, end)
    assert word in [candidate.text for candidate in found.candidates]


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("(api == Fetch and state ) ", ["and", "or"]),
        ("has f", [("finding", "keyword", "exchanges that `kdissect check` has something to say about")]),
        ("any(throttl", [("throttle", "field", "time the broker says it throttled the client for")]),
        ("coun", [("count(", "function", "how many values the field has")]),
        ("all", [("all(", "function", "every value of the field, and there is one")]),
        ("any", [("any(", "function", "one value of the field is enough")]),
        ("no", [("not", "keyword", "the opposite")]),
        ("api an", [("and", "keyword", "both")]), ("api o", [("or", "keyword", "one of both")]),
        ("(api == Fetch )", ["and", "or"]), ("(api == Fetch ", ["and", "or", ")"]),
        ("closed.by == ", [("client", "value", ""), ("broker", "value", "")]),
        ("batch.codec == z", [("zstd", "value", "4")]),
        ("api == fetchs", [("FetchSnapshot", "value", "API key 59")]),
        ("error == not_l", [("NOT_LEADER_OR_FOLLOWER", "value", "code 6, retriable")]),
        ("request.committed == ", ["ABORT", "COMMIT", "true", "false"]),
        ("request.allow_auto_topic_creation == ", ["true", "false"]),
        ("client_id == ", []), ("topic in (", []), ("request.topics == ", []), ("latency ~ ", []),
        ("latency == ", [("50ms", "value", "a span of time with its unit: 50ms, 1.5s, 200us, 2m")]),
        ("request.bytes > ", ["10kB"]), ("client.ip == ", ["10.0.0.0/8"]), ("client ~ ", []),
        ("has finding FRM006", [("FRM006", "rule", "trailing-bytes")]),
        ("nothing ", ["and", "or"]), ("nothing == ", []), ("request.nothing == ", []),
        ("api == Heartbeat and request.g", ["request.generation_id", "request.group_id",
                                            "request.group_instance_id"]),
        ("api == Heartbeat and api == Fetch and request.topics.f", []),
        ("api in (Heartbeat, LeaveGroup) and request.mem", ["request.member_id", "request.members"]),
        (
            "not api == Fetch and request.generation",
            ["request.generation_id", "request.generation_id_or_member_epoch"],
        ),
        ("request.protocols.m", [("request.protocols.metadata", "field", "bytes")]),
    ],
)  # fmt: skip
def test_all_that_is_offered(text: str, candidates: list[object]) -> None:
    found = complete(text, len(text)).candidates
    named = candidates and isinstance(candidates[0], str)
    assert [candidate.text if named else tuple(candidate) for candidate in found] == candidates


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
