"""Metrics that clients push, as opentelemetry-proto writes them."""

import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.decoders.payloads.protobuf import MAX_NESTING
from kdissect.decoders.payloads.telemetry import metrics
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from tests.decoders.payloads.vectors import FOLDER, decoded

DOCUMENT = json.loads((FOLDER / "otlp.json").read_text())
DATA = bytes.fromhex(DOCUMENT["hex"])


def test_every_kind_of_metric() -> None:
    assert metrics(DATA, 0, len(DATA)) == DOCUMENT["value"]
    assert metrics(b"?" + DATA + b"?", 1, 1 + len(DATA)) == DOCUMENT["value"]


def gzip(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=31)
    return squeeze.compress(data) + squeeze.flush()


@pytest.mark.parametrize(("codec", "data"), [(0, DATA), (1, gzip(DATA))])
def test_compressed_as_a_whole(codec: int, data: bytes) -> None:
    told = decoded("telemetry", data, {"compression_type": codec})
    assert told == {"payload": "MetricsData", "value": DOCUMENT["value"]}


@pytest.mark.parametrize(
    ("codec", "data", "why"),
    [
        (0, DATA[:-3], "run past the end"),
        (0, b"\x0f", "no wire type 7"),
        (0, b"\xff" * 11, "does not fit 64 bits"),
        (1, DATA, "gzip"),
        (5, DATA, "codec 5"),
        (1, gzip(bytes(64 << 20)), "gzip"),
    ],
)
def test_what_does_not_fit_says_why(codec: int, data: bytes, why: str) -> None:
    told = decoded("telemetry", data, {"compression_type": codec})
    assert told is not None
    assert told["value"] is None
    assert why in told["why"]


def test_nesting_is_bounded() -> None:
    def wrapped(number: int, content: bytes) -> bytes:
        length, out = len(content), b""
        while length > 0x7F:
            out, length = out + bytes([length & 0x7F | 0x80]), length >> 7
        return bytes([number << 3 | 2]) + out + bytes([length]) + content

    value = b""
    for _ in range(2 * MAX_NESTING):  # AnyValue.array_value.values
        value = wrapped(5, wrapped(1, value))
    attribute = wrapped(2, value)
    data = wrapped(1, wrapped(1, wrapped(1, attribute)))
    with pytest.raises(DecodeError, match="nested deeper"):
        metrics(data, 0, len(data))


def test_spans() -> None:
    root = Node("MetricsData", "payload", 0)
    metrics(DATA, 0, len(DATA), root)
    names = [node for node in root.walk() if node.name == "name" and node.value == "sum"]
    (node,) = names
    assert DATA[node.start : node.end] == b"\x0a\x03sum"
    point = next(node for node in root.walk() if node.name == "as_int" and node.value == -7)
    assert DATA[point.start : point.end][1:] == struct.pack("<q", -7)


def _read(data: bytes, node: Node | None) -> object:
    try:
        return metrics(data, 0, len(data), node)
    except DecodeError:
        return DecodeError


@given(place=st.integers(0, len(DATA) - 1), changed=st.binary(max_size=12), cut=st.integers(0, 12))
def test_the_native_engine_reads_what_python_reads(place: int, changed: bytes, cut: int) -> None:
    """With a node, Python reads."""
    data = DATA[:place] + changed + DATA[place + cut :]
    native, python = _read(data, None), _read(data, Node("MetricsData", "payload", 0))
    assert native == python
    assert repr(native) == repr(python)


def test_every_cut_raises_only_decode_errors() -> None:
    for end in range(len(DATA)):
        for data in (DATA[:end], DATA[:end] + bytes([DATA[end] ^ 0x55]) + DATA[end + 1 :]):
            found: Any = None
            try:
                found = metrics(data, 0, len(data))
            except DecodeError:
                continue
            assert isinstance(found, dict)
