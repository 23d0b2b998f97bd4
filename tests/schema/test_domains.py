"""The domains of numbers: each number of each request and response has one, and no row is idle."""

from collections.abc import Iterator

import pytest

from kdissect.model.errors import SchemaError
from kdissect.schema import protocol_messages
from kdissect.schema.all_fields import all_fields
from kdissect.schema.domains import domain, domains, has_domain, parse_domains
from kdissect.schema.enums import enumeration
from kdissect.schema.fact_tables import parse_rows
from kdissect.schema.types import Array, Field, Message, Primitive

_NUMBERS = {
    Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64, Primitive.UINT16, Primitive.UINT32,
}  # fmt: skip


def _numbers() -> Iterator[tuple[Message, Field]]:
    for api in protocol_messages.all_apis():
        for message in (api.request, api.response):
            for field in all_fields(message):
                kind = field.type.element if isinstance(field.type, Array) else field.type
                if kind in _NUMBERS:
                    yield message, field


def _is_closed(field: Field) -> bool:
    known = None if field.enum is None else enumeration(field.enum)
    return known is not None and not known.is_open


def test_each_number_has_a_domain_or_a_table_of_its_values() -> None:
    for message, field in _numbers():
        is_listed = field.is_error or _is_closed(field)
        assert (domain(message.name, field) is None) == is_listed, f"{message.name}.{field.name}"
        assert has_domain(field) or is_listed


def test_no_row_is_idle() -> None:
    found = {(message.name, field.name) for message, field in _numbers()}
    assert set(domains().by_message) <= found
    assert set(domains().by_field) <= {name for _, name in found}


def test_defaults_are_inside() -> None:
    """What Apache Kafka writes where nothing is set is legal, but for what a reader never sees."""
    for message, field in _numbers():
        known = domain(message.name, field)
        if known is not None and isinstance(field.default, int):
            assert field.default in known, f"{message.name}.{field.name}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a b", "t:1: a row is"),
        ("meaning m x", "t:1: 'x' is no number"),
        ("meaning m 0\n a a\nmeaning n 0\n a", "t:4: a has a meaning already"),
        ("in M f 0", "t:1: a row is"),
        ("meaning m 0\nin M f 0\nin M f 1", "t:3: f in M stands here twice"),
        ("meaning m 0 1 2", "t:1: a row is"),
    ],
)
def test_a_wrong_row_is_refused(text: str, why: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_domains(parse_rows(text, "t"))
    assert str(caught.value).startswith(why)


def test_ends_of_a_domain_are_inside() -> None:
    made = parse_domains(parse_rows("meaning p 0 9\n a\nmeaning q none\n b\nin M c 1", "t"))
    port, every, one = made.by_field["a"], made.by_field["b"], made.by_message["M", "c"]
    assert [number in port for number in (-1, 0, 9, 10)] == [False, True, True, False]
    assert -5 in every
    assert 0 not in one
    assert (str(port), str(one)) == ("0 to 9", "1 or more")
