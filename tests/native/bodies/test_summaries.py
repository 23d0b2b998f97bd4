"""Summaries by the compiled walk are those of the summarizer, whatever is done to the bytes."""

import random
from collections.abc import Iterator

import pytest

from kdissect.decoders.bodies import _walking
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.summary import summarizer
from kdissect.model.native import native
from kdissect.schema import protocol_messages
from tests.conformance.random_values import ValueMaker, all_bodies

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

API_KEYS = sorted(protocol_messages.api_keys())
METADATA, FETCH = 3, 1
MOST_REMEMBERED = 1024
MOST_PLACES = 80  # of longer bodies a sample is changed


def damaged(data: bytes, dice: random.Random) -> Iterator[bytes]:
    """Yield every byte changed, every cut, bytes more and less."""
    places = range(len(data))
    for at in places if len(data) <= MOST_PLACES else dice.sample(places, MOST_PLACES):
        for byte in (data[at] ^ 1, data[at] ^ 0x80, dice.choice((0, 1, 2, 127, 255))):
            yield data[:at] + bytes([byte]) + data[at + 1 :]
        yield data[:at]
        yield data[:at] + data[at + 1 :]
        yield data[:at] + b"\0" + data[at:]
    yield data + b"\0"


@pytest.mark.sampled(16)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_damaged_bodies_have_the_summaries_of_the_summarizer(api_key: int) -> None:
    dice = random.Random(api_key)
    for message, version in all_bodies():
        if message.api_key != api_key:
            continue
        summarize, expected = _walking(message, version, True), summarizer(message, version, True)
        for most in (1, 2):
            data = encode(message, version, ValueMaker(message, version, 11, most=most).body())
            for padding in (0, 5):
                assert summarize(bytes(padding) + data, padding) == expected(data, 0), (message, version)
            for changed in damaged(data, dice):
                found = summarize(b"pad" + changed, 3)
                assert found == expected(b"pad" + changed, 3), (message, version, changed.hex())
                assert type(found) is type(expected(changed, 0))


def metadata(*topics: bytes) -> bytes:
    """Return a request of version 1."""
    return len(topics).to_bytes(4) + b"".join(len(name).to_bytes(2) + name for name in topics)


def test_names_that_are_not_utf_8_are_left_to_python() -> None:
    message = body_message(METADATA, 1, False)
    summarize, expected = _walking(message, 1), summarizer(message, 1)
    for topics in ([b"\xff", rb"\xff"], [b"\xed\xa0\x80"], [b"a", b"a"], ["\u00e9".encode(), b"\0"]):
        data = metadata(*topics)
        assert summarize(data, 0) == expected(data, 0)


def test_offsets_beyond_the_data() -> None:
    message = body_message(METADATA, 1, False)
    summarize, expected = _walking(message, 1), summarizer(message, 1)
    for offset in (0, 3, 4, 5, 100):
        assert summarize(metadata(), offset) == expected(metadata(), offset)


def test_what_is_remembered_is_bounded() -> None:
    message = body_message(METADATA, 1, False)
    summarize = _walking(message, 1)
    owner = summarize.__self__  # type: ignore[attr-defined]
    assert summarize(metadata(b"t"), 0) is summarize(metadata(b"t"), 0)
    for number in range(3 * MOST_REMEMBERED):
        assert summarize(metadata(b"t%d" % number), 0).topics == (f"t{number}",)
        assert len(owner) <= MOST_REMEMBERED
    large = metadata(b"n" * 3000)
    held = len(owner)
    assert summarize(large, 0) is not summarize(large, 0)
    assert len(owner) == held
