"""Whatever bytes stand where a payload belongs: nothing is raised, and the tree fills them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.payloads.internal_records import decode_record, find_record
from kdissect.decoders.payloads.nesting import FINDERS, Expander, find, nest, payload_jsonable
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.schema.logs import all_logs
from tests.decoders.payloads.vectors import groups, records

SEEDS = [*groups().values(), *(part for row in records() for part in row[2:] if part is not None)]
facts = st.fixed_dictionaries(
    {},
    optional={
        "protocol_type": st.sampled_from(["consumer", "connect", "sr", "other", ""]),
        "protocol_name": st.sampled_from(["range", "sticky", "cooperative-sticky", "stream"]),
        "mechanism": st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "OTHER"]),
        "compression_type": st.integers(0, 8),
        "inner_api": st.tuples(st.integers(0, 95), st.integers(0, 18)),
    },
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Real payloads cut, doubled or with some bytes changed; and any bytes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.binary(max_size=64))
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 3))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[draw(st.integers(0, 4)) : draw(st.integers(0, len(data)))])


def assert_fills(tree: Node, start: int, end: int) -> None:
    assert tree.start == start
    assert tree.end <= end
    for node in tree.walk():
        at = node.start
        for child in node.children:
            assert child.start == at, (node, child)
            at = child.end
        assert not node.children or at == node.end, node


@pytest.mark.exhaustive
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(FINDERS)), damaged(), facts)
def test_any_bytes_in_any_place(place: str, data: bytes, known: dict[str, Any]) -> None:
    scope = Scope(known)
    padded = b"??" + data + b"?"
    end = 2 + len(data)
    found = find(place, padded, 2, end, scope)
    if found is not None:
        tree = found.dissect(padded, 2, end, nest)
        nest(tree, padded, scope)
        assert_fills(tree, 2, end)
    alone = find(place, data, 0, len(data), scope)
    assert (alone is None) == (found is None)
    if alone is not None:
        payload_jsonable(alone.decode(data, len(data)), False, Expander(scope, False, []))


@pytest.mark.exhaustive
@settings(max_examples=400, deadline=None)
@given(st.sampled_from([logged.name for logged in all_logs()]), st.none() | damaged(), st.none() | damaged())
def test_any_bytes_in_records(topic: str, key: bytes | None, value: bytes | None) -> None:
    is_control = topic == "control"
    for payload in decode_record(topic, key, value, is_control):
        if payload is not None:
            payload_jsonable(payload)
    spans = [None if part is None else (b"?" + part + b"??", 1, 1 + len(part)) for part in (key, value)]
    for found, span in zip(find_record(topic, spans[0], spans[1], is_control), spans, strict=True):
        if found is not None and span is not None:
            tree = found.dissect(*span, nest)
            nest(tree, span[0], Scope())
            assert_fills(tree, span[1], span[2])
