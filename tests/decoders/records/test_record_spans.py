"""Trees of batches: every byte has a node, also inside compressed batches; what does not fit is marked."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.records.spans import batch_nodes, nest_records
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_text import render
from tests.support.console import CAPTURES
from tests.support.messages.batches import (
    batch_bytes,
    kafka_python_batch,
    kafka_python_messages,
    message_bytes,
    record_bytes,
)

NOW = 1_700_000_000_000
SAMPLES = [(NOW + i, b"k%d" % i, b"v" * 40 * i, [("h", None), ("g", b"x")]) for i in range(5)]


def check(node: Node) -> None:
    """Children fill their parent; a decompressed one begins anew."""
    at = node.start
    for child in node.children:
        if child.type == "decompressed":
            assert child.start == 0
        else:
            assert child.start == at
            at = child.end
        check(child)
    if node.children and node.children[0].type != "decompressed":
        assert at == node.end


def tree(data: bytes, may_be_cut: bool = False) -> Node:
    root = Node("records", "records", 0)
    root.children = batch_nodes(data, 0, len(data), may_be_cut)
    root.end = len(data)
    check(root)
    return root


def named(root: Node, name: str) -> list[object]:
    return [node.value for node in root.walk() if node.name == name]


@pytest.mark.parametrize("codec", range(5))
def test_fields_of_batches_and_records(codec: int) -> None:
    root = tree(kafka_python_batch(SAMPLES, codec))
    assert named(root, "record_count") == [5]
    assert named(root, "key") == ["k0", "k1", "k2", "k3", "k4"]
    assert named(root, "value") == ["v" * 40 * i for i in range(5)]
    assert named(root, "headers[1].value") == ["x"] * 5
    (first, *_) = (node for node in root.walk() if node.name == "records[0]")
    assert first.start == (0 if codec else 61)


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 2), (0, 3), (1, 0), (1, 1), (1, 3)])
def test_messages_of_old_formats(magic: int, codec: int) -> None:
    root = tree(kafka_python_messages(SAMPLES, magic, codec))
    assert [value for value in named(root, "key") if value is not None] == ["k0", "k1", "k2", "k3", "k4"]
    assert len(named(root, "timestamp")) == (0 if magic == 0 else 6 if codec else 5)


def test_what_does_not_fit_is_marked() -> None:
    bad = batch_bytes(record_bytes() + b"\x50", 2)
    data = batch_bytes(record_bytes(), crc=1) + b"between" + bad + batch_bytes(b"no gzip", attributes=1)
    errors = {node.name: node.error.why for node in tree(data).walk() if node.error and not node.children}
    assert errors["crc"].startswith("the bytes give ")
    assert errors["rest"] == "length 40, 0 bytes follow"
    assert errors["records"].startswith("gzip: bytes are not gzip")


def test_the_tree_as_text_escapes_and_tells_null() -> None:
    root = tree(batch_bytes(record_bytes(key=b"\x1b[2J", value=None), attributes=0x10))
    lines = list(render(root, b"x" * 100))
    assert any('key: bytes = "\\x1b[2J"' in line for line in lines)
    assert any(line.endswith("value: null") for line in lines)
    assert any("attributes: int16 (none, transactional) = 16" in line for line in lines)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_frames_of_captures(path: Path) -> None:
    for exchange in Dissection(str(path)):
        if exchange.api_key == 0 and exchange.request:
            data = exchange.request.data
            root = dissect_request(data, size_prefixed=False)
            nest_records(root, data, may_be_cut=False)
        elif exchange.api_key in (1, 78) and exchange.response and exchange.api_version is not None:
            data = exchange.response.data
            root = dissect_response(data, exchange.api_key, exchange.api_version, size_prefixed=False)
            nest_records(root, data, may_be_cut=True)
        else:
            continue
        check(root)
        assert all(node.error is None for node in root.walk() if node.name != "crc" and not node.children)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_raises_nothing_and_leaves_no_hole(data: st.DataObject) -> None:
    make = data.draw(st.sampled_from(range(8)))
    raw = kafka_python_batch(SAMPLES, make) if make < 5 else kafka_python_messages(SAMPLES, 1, make - 5)
    changed = bytearray(raw + message_bytes(b"end"))
    for _ in range(data.draw(st.integers(1, 5))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    tree(bytes(changed), data.draw(st.booleans()))
