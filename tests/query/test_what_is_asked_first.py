"""Cheap tests go first, and tests of three and more parts are like those of two."""

from typing import Any

import pytest

from kdissect.decoders.encoder import encode
from kdissect.query import FilterError, binding, compile_filter
from kdissect.query.values.operators import OPERATORS
from kdissect.schema.protocol_messages import api
from kdissect.session.exchange import Exchange
from tests.query.exchanges import exchange, frame, takes


@pytest.mark.parametrize(
    "text",
    [
        "request.topics and latency > 1s", "request.topics == null and latency > 1s",
        "count(request.topics) > 1 and latency > 1s", "not request.topics and latency > 1s",
        "(request.topics or request.topics.name == x) and latency > 1s and version == 9",
        "request.topics.name == x or api == Metadata", "request.topics or client or api == Metadata",
        "not (request.topics.name == x or api == Metadata)",
    ],
)  # fmt: skip
def test_bodies_are_looked_into_last(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a body was looked into")

    monkeypatch.setattr(binding, "projector", fail)
    assert takes(text, exchange(request=frame(bytes(4)))) == [" or " in text and "(" not in text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api_key > 1 and api_key < 5 and api_key != 3", "nnynyn"),
        ("api_key == 1 or api_key == 3 or api_key == 5", "nynyny"),
        ("api_key == 1 or api_key == 3", "nynynn"), ("api_key > 1 and api_key < 4", "nnyynn"),
        ("not (api_key == 1 or api_key == 3 or api_key == 5)", "ynynyn"),
        ("api_key == 0 or api_key == 1 and api_key == 2", "ynnnnn"),
    ],
)  # fmt: skip
def test_several_parts(text: str, expected: str) -> None:
    made = [exchange(api_key=key) for key in range(6)]
    assert "".join("ny"[found] for found in takes(text, *made)) == expected


def asking_for(key: int, version: int, body: dict[str, Any]) -> Exchange:
    found = api(key)
    assert found is not None
    return exchange(api_key=key, api_version=version, request=frame(encode(found.request, version, body)))


def test_a_field_that_is_something_else_in_another_api() -> None:
    """`groups` are names in DescribeGroups, and structs in OffsetFetch."""
    names = asking_for(15, 0, {"groups": ["g", "h"]})
    structs = asking_for(9, 8, {"groups": [{"group_id": "g", "topics": None}], "require_stable": False})
    nothing = asking_for(15, 0, {"groups": []})
    made = (names, structs, nothing, exchange())
    for text, expected in (
        ("request.groups == g", "ynnn"), ("request.groups != x", "yynn"), ("request.groups != g", "nynn"),
        ("request.groups in (g, x)", "ynnn"), ("request.groups not in (x)", "yynn"),
        ("request.groups ~ ^h", "ynnn"), ("request.groups !~ ^h", "nynn"), ("request.groups", "yynn"),
        ("all(request.groups) == g", "nnnn"), ("count(request.groups) == 2", "ynnn"),
        ("request.groups == null", "nnnn"), ("request.groups != null", "yynn"),
    ):  # fmt: skip
        assert "".join("ny"[found] for found in takes(text, *made)) == expected, text


NAMED = ("state", "kind", "closed.by", "closed.how", "anomalies.kind", "processes.end")


@pytest.mark.parametrize("name", NAMED)
def test_names_of_ours_are_a_closed_list(name: str) -> None:
    for text, said in (
        (f"{name} == nobody", "no value 'nobody'"), (f"{name} == 3", "no value '3'"),
        (f"{name} < client", "has no order"),
    ):  # fmt: skip
        with pytest.raises(FilterError, match=said):
            compile_filter(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("request.acks == 7", "nny"),
        ("request.acks == all_isr", "ynn"),
        ("request.acks < 1", "ynn"),
        ("request.acks ~ ISR", "ynn"),
        ("request.acks ~ 7", "nny"),
        ("request.acks in (LEADER..9)", "nyy"),
    ],
)
def test_numbers_with_names(text: str, expected: str) -> None:
    """Others than those with names are possible on the wire."""
    made = [asking_for(0, 8, {"acks": acks, "timeout_ms": 1, "topic_data": []}) for acks in (-1, 1, 7)]
    assert "".join("ny"[found] for found in takes(text, *made)) == expected


def test_codecs_are_numbers_too() -> None:
    compile_filter("batch.codec < 2 and batch.codec == 9 and batch.codec == GZIP")
    with pytest.raises(FilterError, match="no value 'zip'"):
        compile_filter("batch.codec == zip")


def test_the_first_spelling_is_the_name() -> None:
    assert [operator.symbol for operator in OPERATORS] == [
        "==", "!=", "<", "<=", ">", ">=", "~", "!~", "contains", "in", "not in",
    ]  # fmt: skip
