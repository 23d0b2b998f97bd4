"""Personal data in values that a schema decodes: numbers, dates and texts are replaced in their own bytes."""

import io
import json
from typing import Any

import pytest

from kdissect.personal.contents import Form, examine, masked
from kdissect.serdes.decoders import decoder_of
from kdissect.serdes.registered import Registered, SchemaType

for module in ("phonenumbers", "stdnum", "fastavro", "grpc_tools"):
    pytest.importorskip(module, reason="needs the extras personal and schemas")

AVRO = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "first_name", "type": "string"},
        {"name": "pesel", "type": "long"},
        {"name": "date_of_birth", "type": {"type": "int", "logicalType": "date"}},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": "float"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "mails", "type": {"type": "map", "values": "string"}},
        {"name": "hash", "type": "bytes"},
    ],
}
PERSON = {
    "id": 44051401359, "first_name": "Jo", "pesel": 44051401359, "date_of_birth": 3700, "lat": 52.520008,
    "lon": 13.404954, "note": "Jo writes to jo@firma.de",
    "mails": {"home": "jo@firma.de", "a@b.de": "c@d.de"},
    "hash": b"Jo jo@firma.de",
}  # fmt: skip
PROTO = """
syntax = "proto3";
message Person {
  int64 id = 1; string first_name = 2; uint64 pesel = 3; double lat = 4; float lon = 5;
  repeated string mails = 6; fixed64 phone = 7;
}
"""


def avro(value: dict[str, Any]) -> bytes:
    import fastavro  # an extra

    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO), value)
    return out.getvalue()


def decoder(text: str, kind: SchemaType) -> Any:
    decode = decoder_of(Registered("s", kind, text, {}))
    return lambda data: decode(data, (0,))


def test_avro_stays_avro() -> None:
    decode = decoder(json.dumps(AVRO), SchemaType.AVRO)
    data = avro(PERSON)
    content = examine(data, decode=decode)
    assert content.form is Form.SCHEMA
    assert sorted((one.leaf.path, str(one.hit.kind)) for one in content.found) == [
        ("$.date_of_birth", "birth_date"), ("$.first_name", "name"), ("$.lat", "coordinates"),
        ("$.lon", "coordinates"), ("$.mails.*", "email"), ("$.mails.*", "email"), ("$.mails.home", "email"),
        ("$.note", "email"), ("$.pesel", "national_id"),
    ]  # fmt: skip
    without = masked(content, decode)
    assert len(without) == len(data)
    mail = "x" * len("jo@firma.de")
    assert decode(without) == decode(data) | {
        "first_name": "xx", "pesel": 0, "date_of_birth": "1970-01-01", "lat": 0.0, "lon": 0.0,
        "note": f"Jo writes to {mail}", "mails": {"home": mail, "xxxxxx": "xxxxxx"},
    }  # fmt: skip
    assert not examine(without, decode=decode).found


def test_protobuf_stays_protobuf() -> None:
    decode = decoder(PROTO, SchemaType.PROTOBUF)
    first, mails = b"\x12\x02Jo", b"".join(b"\x32\x0bjo@firma.de" for _ in range(2))
    data = b"\x08" + varint(44051401359) + first + b"\x18" + varint(44051401359) + mails
    content = examine(data, decode=decode)
    assert [one.leaf.path for one in content.found] == ["$.pesel", "$.mails[]", "$.mails[]", "$.first_name"]
    without = masked(content, decode)
    assert len(without) == len(data)
    assert decode(without) == decode(data) | {"first_name": "xx", "pesel": "0", "mails": ["x" * 11] * 2}
    assert not examine(without, decode=decode).found


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def test_a_value_that_cannot_be_replaced_alone_is_filled() -> None:
    """The decoder reads a text that its bytes do not have."""
    data = b"\x00\x01abc"
    content = examine(data, decode=lambda _: {"email": "jo@firma.de"})
    assert [one.leaf.text for one in content.found] == ["jo@firma.de"]
    assert masked(content, lambda _: {"email": "jo@firma.de"}) == b"xxxxx"
