"""Numbers outside their domain, in each field of each API: the finding names field, value and domain."""

from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.model.finding import Finding
from kdissect.schema import protocol_messages
from kdissect.schema.domains import domain, domains
from kdissect.schema.types import Api, Array, Message, Primitive, Struct
from tests.rules.scripted_connection import ScriptedConnection, findings

_NUMBERS = {
    Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64, Primitive.UINT16,
}  # fmt: skip
_DEPTH = 6


def _paths(message: Message, version: int) -> Iterator[tuple[str, tuple[tuple[str, bool], ...], int]]:
    """Path in output, names on the way (and whether each is a list) and a number outside, for each end."""

    def below(
        of: Struct, path: str, names: tuple[tuple[str, bool], ...]
    ) -> Iterator[tuple[str, tuple[tuple[str, bool], ...], int]]:
        for field in of.fields:
            if version not in field.versions or field.tag is not None or len(names) >= _DEPTH:
                continue
            is_list = isinstance(field.type, Array)
            kind = field.type.element if isinstance(field.type, Array) else field.type
            here = f"{path}{field.name}" + "[0]" * is_list
            steps = (*names, (field.name, is_list))
            if isinstance(kind, Struct):
                yield from below(kind, f"{here}.", steps)
            elif kind in _NUMBERS:
                known = domain(message.name, field)
                if known is not None and known.least is not None and kind is not Primitive.UINT16:
                    yield here, steps, known.least - 3
                if known is not None and known.most is not None and kind is Primitive.INT32:
                    yield here, steps, known.most + 1

    yield from below(message.root, "", ())


def _fields(steps: tuple[tuple[str, bool], ...], number: int) -> dict[str, Any]:
    value: Any = number
    for name, is_list in reversed(steps):
        value = {name: [value] if is_list else value}
    assert isinstance(value, dict)
    return value


def _has(found: list[Finding], side: str, path: str, number: int) -> bool:
    return any(
        one.place.path.endswith(f".{path}") and one.seen == str(number)
        for one in found
        if one.place.side == side
    )


APIS = [api for api in protocol_messages.all_apis() if api.name not in ("SaslHandshake", "SaslAuthenticate")]


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_number_outside_is_named(api: Api) -> None:
    version = api.versions[1]
    missed = []
    for side, message in (("request", api.request), ("response", api.response)):
        for path, steps, number in _paths(message, version):
            fields = _fields(steps, number)
            asked, answered = (fields, {}) if side == "request" else ({}, fields)
            told = ScriptedConnection().exchange(api.name, version, asked, answered).close()
            if not _has(findings(told), side, path, number):
                missed.append((side, path, number))
    assert missed == []


@pytest.mark.parametrize("asked", [-1, 0])
def test_a_broker_that_repeats_a_number_of_the_request_is_not_at_fault(asked: int) -> None:
    """A partition that a client made up is answered by its number, with an error."""
    unknown = 3  # org.apache.kafka.common.protocol.Errors
    told = ScriptedConnection().exchange(
        "OffsetFetch", 7,
        {"group_id": "g", "topics": [{"name": "a", "partition_indexes": [asked]}]},
        {"topics": [{"name": "a", "partitions": [{"partition_index": -1, "error_code": unknown}]}]},
    ).close()  # fmt: skip
    sides = {one.place.side for one in findings(told) if one.code == "BDY021"}
    assert sides == ({"request"} if asked == -1 else {"response"})


def test_a_negative_level_asks_to_remove_a_feature() -> None:
    """KIP-584: every level below 1 does."""
    feature = {"feature": "kraft.version", "max_version_level": -1, "allow_downgrade": True}
    told = ScriptedConnection().exchange("UpdateFeatures", 0, {"feature_updates": [feature]}, {}).close()
    assert [one.code for one in findings(told) if one.code.startswith("BDY")] == []


def _structs(of: Struct) -> Iterator[Struct]:
    yield of
    for field in of.fields:
        kind = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(kind, Struct):
            yield from _structs(kind)


def _has_path(of: Struct, path: str) -> bool:
    """Whether a struct has a field, or a path of fields below it."""
    name, _, rest = path.partition(".")
    for field in of.fields:
        if field.name == name:
            kind = field.type.element if isinstance(field.type, Array) else field.type
            return not rest or (isinstance(kind, Struct) and _has_path(kind, rest))
    return False


def test_relations_are_listed_for_each_message_that_has_both_fields() -> None:
    """A message whose struct has the two fields of a relation is judged, or the table says by whom."""
    listed = {
        (message, relation.field, relation.other)
        for message, relations in domains().relations.items()
        for relation in relations
    }
    pairs = {(field, other) for _, field, other in listed}
    there = {
        (message.name, *pair)
        for api in protocol_messages.all_apis()
        for message in (api.request, api.response)
        for of in _structs(message.root)
        for pair in pairs
        if all(_has_path(of, path) for path in pair)
    }
    assert there == listed
