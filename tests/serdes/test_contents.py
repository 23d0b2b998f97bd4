"""JSON, MessagePack and CBOR that no schema describes."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cbor2", reason="needs the extra schemas")
pytest.importorskip("msgpack", reason="needs the extra schemas")

import cbor2
import msgpack

from kdissect.cli import main
from kdissect.decoders.encoder import encode_request
from kdissect.serdes import contents
from kdissect.serdes.contents import content_of
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

ORDER = {"id": 7, "customer": {"email": "anna@example.com", "tags": ["a", None, True]}, "total": 9.5}

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
_OBJECTS = st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), _JSON, min_size=1)


@given(_OBJECTS)
def test_objects_of_each_form(value: Any) -> None:
    assert content_of(json.dumps(value).encode()) == value
    assert content_of(cbor2.dumps(value)) == value
    assert content_of(b"\xd9\xd9\xf7" + cbor2.dumps(value)) == value
    assert content_of(msgpack.packb(value)) == value


@pytest.mark.parametrize("packed", [cbor2.dumps(ORDER), msgpack.packb(ORDER)], ids=["cbor", "msgpack"])
def test_all_bytes_are_one_map(packed: bytes) -> None:
    assert content_of(packed) == ORDER
    assert content_of(packed + b"\0") is None
    assert content_of(packed[:-1]) is None


@pytest.mark.parametrize(
    "value", [{}, {1: 2}, {"": 1}, {"a\0": 1}, {b"a": 1}, [1, 2], "text", 5, None, 1.5], ids=repr
)
def test_other_contents_are_not_taken_for_maps(value: Any) -> None:
    assert content_of(msgpack.packb(value)) is None
    assert content_of(cbor2.dumps(value)) is None


def test_types_that_json_does_not_have() -> None:
    moment = datetime(2026, 11, 30, 7, 8, 9, tzinfo=UTC)
    found = content_of(
        cbor2.dumps(
            {
                "t": moment,
                "d": Decimal("-1.50"),
                "u": UUID(int=5),
                "b": b"\0\xff",
                "n": 2**70,
                "f": float("inf"),
            }
        )
    )
    assert found == {
        "t": "2026-11-30T07:08:09Z",
        "d": "-1.50",
        "u": "00000000-0000-0000-0000-000000000005",
        "b": {"base64": "AP8="},
        "n": 2**70,
        "f": "Infinity",
    }
    packed = msgpack.packb({"t": moment, "b": b"\0\xff", "x": msgpack.ExtType(5, b"\1")}, datetime=True)
    assert content_of(packed) == {
        "t": "2026-11-30T07:08:09Z",
        "b": {"base64": "AP8="},
        "x": [5, {"base64": "AQ=="}],
    }


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xd8\x1c\xa1\x61a\xd8\x1d\x00", None),  # the outermost value has the tag of shared values
        (b"\xa1\x61a\xd8\x1c\x81\xd8\x1d\x00", {"a": [0]}),  # a reference to the list that it is in
        (b"\xa1\x61a\xc4\x82\x1a\x7f\xff\xff\xff\x01", {"a": [2**31 - 1, 1]}),  # 10 to the power of 2**31 - 1
        (b"\xa1\x61a\xd8\x23\x63(a)", {"a": "(a)"}),  # a regular expression
        (b"\xa1\x61a" + b"\x81" * 5000 + b"\0", None),
        (b"\x81\xa1a" + b"\x91" * 5000 + b"\0", None),
        (b"\xa1\x61a\x9b\0\0\0\x7f\xff\xff\xff\xff", None),
        (b"\x81\xa1a\xdd\x7f\xff\xff\xff", None),
        (b"[" * 5000, None),
    ],
)
def test_values_that_would_grow(data: bytes, expected: Any) -> None:
    assert content_of(data) == expected


def test_a_number_of_many_digits_is_short() -> None:
    found = content_of(cbor2.dumps({"n": 1 << 20_000}))
    assert found is not None and found["n"] == hex(1 << 20_000)
    json.dumps(found)


@settings(max_examples=300)
@given(
    st.sampled_from([b"\x81", b"\xde", b"\xa1", b"\xbf", b"\xd9\xd9\xf7", b"{", b""]), st.binary(max_size=60)
)
def test_any_bytes_raise_nothing(head: bytes, data: bytes) -> None:
    json.dumps(content_of(head + data))


def test_without_the_libraries_json_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_is_installed", lambda _module: False)
    monkeypatch.setitem(sys.modules, "cbor2", None)
    assert content_of(cbor2.dumps(ORDER)) is None
    assert content_of(json.dumps(ORDER).encode()) == ORDER


def test_records_filter_and_show_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    values = [
        msgpack.packb(ORDER),
        cbor2.dumps(ORDER | {"id": 8}),
        json.dumps(ORDER | {"id": 9}).encode(),
        b"text",
    ]
    records = b"".join(record_bytes(n, 0, None, value) for n, value in enumerate(values))
    written = {"index": 0, "records": batch_bytes(records, len(values), last_delta=len(values) - 1)}
    request = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": [written]}]}
    talk = Conversation().handshake()
    path = write_pcap(tmp_path / "a.pcap", talk.client(encode_request(0, 9, 1, "shop", request)).packets)
    assert main(["records", path, "-e", "record,decoded.value", "-Y", 'value.customer.email ~ "^anna@"']) == 0
    lines = capfd.readouterr().out.splitlines()[1:]
    assert [json.loads(line.split("\t")[1])["id"] for line in lines] == [7, 8, 9]
    assert main(["records", path, "-e", "record", "-Y", "value.id > 7"]) == 0
    assert capfd.readouterr().out.split() == ["record", "1", "2"]
