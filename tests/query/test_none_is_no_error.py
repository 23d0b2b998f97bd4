"""NONE is no error: `error == NONE` asks for responses of no error, other codes are looked for one by one."""

import pytest

from kdissect.decoders.encoder import encode
from kdissect.query import compile_filter
from kdissect.query.binding import Context
from kdissect.schema.protocol_messages import api
from kdissect.session.exchange import Exchange
from tests.query.exchanges import exchange, frame, takes


def told(*codes: int) -> Exchange:
    """Return a Metadata response with a topic for each code."""
    metadata = api(3)
    assert metadata is not None
    topics = [{"error_code": code, "name": "t", "is_internal": False, "partitions": []} for code in codes]
    body = encode(metadata.response, 1, {"brokers": [], "controller_id": 1, "topics": topics})
    return exchange(response=frame(body))


MADE = (told(0, 0), told(0, 3), told(3, 5), told(3, 3), told(), exchange())
CODES = "response.topics.error_code"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("error == NONE", "ynnnyn"), ("error == 0", "ynnnyn"), ("error != NONE", "nyyynn"),
        ("error == UNKNOWN_TOPIC_OR_PARTITION", "nyyynn"), ("error != UNKNOWN_TOPIC_OR_PARTITION", "ynnnyn"),
        ("error != LEADER_NOT_AVAILABLE", "yynyyn"), ("any(error) != 3", "ynynyn"),
        ("all(error) == 3", "nynynn"), ("error in (NONE, 5)", "ynynyn"), ("error not in (NONE, 5)", "nynynn"),
        ("error in (NONE)", "ynnnyn"), ("error > 4", "refused"), ("error ~ '^LEADER'", "nnynnn"),
        ("error", "nyyynn"), ("not error", "ynnnyy"), ("count(error) == 2", "nnynnn"),
        ("count(error) == 0", "ynnnyy"),
        (f"{CODES} == NONE", "ynnnnn"), (f"{CODES} != NONE", "nyyynn"), (f"any({CODES}) == NONE", "yynnnn"),
        (f"all({CODES}) != NONE", "nnyynn"), (f"{CODES} == 3", "nyyynn"), (f"{CODES} != 3", "ynnnnn"),
        (f"all({CODES}) == 3", "nnnynn"), (f"any({CODES}) != 3", "yyynnn"),
        (f"count({CODES}) == 2", "yyyynn"),
    ],
)  # fmt: skip
def test_none(text: str, expected: str) -> None:
    if expected == "refused":
        with pytest.raises(ValueError, match="has no order"):
            compile_filter(text)
        return
    assert "".join("ny"[found] for found in takes(text, *MADE)) == expected


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("number == 1", "all"), ("cluster == x", "all"), ("topics", "topics"), ("topic == x", "topics"),
        ("topic_id", ""), ("request.acks == 1", "bodies"), ("request.body", "bodies"),
        ("batch.magic == 2", "bodies"), ("error", ""), ("anomaly == gap", ""),
        ("anomaly == malformed_body", "bodies"), ("anomaly in (gap, trailing_bytes)", "bodies"),
        ("anomaly == malformed_payload", "bodies"), ("anomaly ~ x", ""), ("has finding", "findings"),
        ("not (error or has finding FRM006)", "findings"), ("number == 1 and topic", "all topics"),
    ],
)  # fmt: skip
def test_needs(text: str, needs: str) -> None:
    made = compile_filter(text)
    names = ("all", "topics", "bodies", "findings")
    assert [name for name in names if getattr(made, f"needs_{name}")] == needs.split()


def test_a_test_counts_exchanges_only_where_it_needs_them() -> None:
    """A filter without numbers learns nothing from an exchange."""
    plain, counting = compile_filter("api == Produce").bind(), compile_filter("number == 2").bind()
    made = exchange()
    assert (plain(made), counting(made), counting(made), counting(made)) == (False, False, True, False)


def test_without_a_first_packet_times_count_from_1970() -> None:
    test = compile_filter("time == +5ns").bind()
    assert [test(exchange(request=frame(time_ns=at))) for at in (4, 5, 6)] == [False, True, False]


@pytest.mark.parametrize(("key", "version"), [(3, 99), (999, 0), (None, 1), (3, None)])
def test_bodies_that_no_schema_has(key: int | None, version: int | None) -> None:
    made = exchange(api_key=key, api_version=version, request=frame(bytes(30)), response=frame(bytes(30)))
    for text in ("request.topics", "response.brokers", f"{CODES} == NONE", "request.topics.name == null"):
        assert takes(text, made) == [False], text
    assert takes("request.topics.name == ''", exchange(request=frame(b"\0\0\0\1\0\0"))) == [True]


def test_bodies_are_looked_at_anew_for_each_exchange() -> None:
    first, second = told(0), told(3)
    test = compile_filter(f"{CODES} == 3").bind(Context())
    assert [test(made) for made in (first, second, first, second, second)] == [False, True, False, True, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [("has finding", "the filter asks for findings"), ("error and has finding FRM006", "asks for findings")],
)
def test_findings_are_asked_of_the_context(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compile_filter(text).bind(Context())
