"""Bodies that are compiled to text are what orjson makes of Python's dicts, or there is none."""

import struct
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.as_json.body_text import body_text, plain_body
from kdissect.decoders.as_json.json_bodies import json_decoder
from kdissect.decoders.encoder import encode
from kdissect.decoders.quirks import UNSUPPORTED_START
from kdissect.model.errors import DecodeError
from kdissect.model.native import native
from kdissect.schema.all_fields import all_fields, has_payloads
from kdissect.schema.protocol_messages import all_apis
from kdissect.schema.types import Message, MessageKind, Primitive
from tests.conformance.random_values import ValueMaker

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

PLAIN = [
    (message, version)
    for api in all_apis()
    for message in (api.request, api.response)
    for version in message.versions
    if plain_body(api.key, version, message.kind is MessageKind.RESPONSE)
]
SEEDS = 4
NASTY = [0, 1, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
FIND_COORDINATOR, API_VERSIONS = 10, 18
STRINGS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from('"\\\x00\x1f \x7f\b\t\n\f\r')), max_size=100
)


def text(message: Message, version: int, data: bytes) -> bytes | None:
    assert message.api_key is not None
    program = body_text(message.api_key, version, message.kind is MessageKind.RESPONSE)
    return None if program is None else program.text(data, 0, None)


def by_python(message: Message, version: int, data: bytes) -> bytes | None:
    """Return the text by another way than that of the rows: tags and all; None where the bytes are
    no body.
    """
    try:
        body, end = json_decoder(message, version)(data, 0)
    except DecodeError:
        return None
    return orjson.dumps(body) if end == len(data) else None


def has_floats(message: Message) -> bool:
    return any(field.type is Primitive.FLOAT64 for field in all_fields(message))


def encoded(message: Message, version: int, seed: int) -> bytes:
    return encode(message, version, ValueMaker(message, version, seed, most=2).body())


@pytest.mark.parametrize(("message", "version"), PLAIN, ids=lambda part: str(getattr(part, "name", part)))
def test_bodies_of_every_version(message: Message, version: int) -> None:
    for seed in range(SEEDS):
        data = encoded(message, version, seed)
        found = text(message, version, data)
        assert found in (None, by_python(message, version, data))
        may_be_left = has_floats(message) or has_payloads(message) or data.startswith(UNSUPPORTED_START)
        assert found is not None or may_be_left


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=1000)
@given(st.sampled_from(PLAIN), st.integers(0, 3), st.randoms(use_true_random=False))
def test_damaged_bodies(body: tuple[Message, int], seed: int, random: Random) -> None:
    data = bytearray(encoded(*body, seed))
    for _ in range(random.randrange(4)):
        if data:
            data[random.randrange(len(data))] = random.choice([*NASTY, random.randrange(256)])
    if random.randrange(3) == 0:
        data = data[: random.randrange(len(data) + 1)]
    if random.randrange(6) == 0:
        data += random.randbytes(random.randrange(3))
    found = text(*body, bytes(data))
    if (
        body[0].kind is MessageKind.RESPONSE
        and body[0].api_key == API_VERSIONS
        and data[:2] == UNSUPPORTED_START
    ):
        assert found is None
    assert found in (None, by_python(*body, bytes(data)))


@settings(deadline=None, max_examples=200)
@given(STRINGS)
def test_strings(key: str) -> None:
    coded = key.encode()
    data = struct.pack(">h", len(coded)) + coded
    program = body_text(FIND_COORDINATOR, 0, is_response=False)
    assert program is not None
    assert program.text(data, 0, None) == orjson.dumps({"key": key})


EPOCH = b"\x01\x08" + struct.pack(">q", 7)  # finalized_features_epoch
MIGRATION = b"\x03\x01\x01"  # zk_migration_ready
UNKNOWN = b"\x63\x02??"


@pytest.mark.parametrize(
    ("tags", "is_taken"),
    [
        ([EPOCH, MIGRATION, UNKNOWN], True),
        ([UNKNOWN], True),
        ([EPOCH, EPOCH], False),
        ([UNKNOWN, UNKNOWN], False),
        ([MIGRATION, EPOCH], False),
        ([UNKNOWN, EPOCH], False),
        ([b"\x01\x07" + EPOCH[2:]], False),
    ],
)
def test_tags(tags: list[bytes], is_taken: bool) -> None:
    api = next(api for api in all_apis() if api.key == API_VERSIONS)
    data = b"\0\0\1\0\0\0\0" + bytes([len(tags)]) + b"".join(tags)
    found = text(api.response, 3, data)
    assert (found is not None) == is_taken
    assert found in (None, by_python(api.response, 3, data))


def test_offsets() -> None:
    program = body_text(FIND_COORDINATOR, 0, is_response=False)
    assert program is not None
    assert program.text(b"??\0\1k", 2, None) == b'{"key":"k"}'
    for offset in (0, 4, 5, 6, 1 << 60):
        assert program.text(b"??\0\1k", offset, None) is None
