"""The compiled hot path decodes canonical bodies as the code that Python emits does, and nothing else."""

import gc
import sys
from functools import cache
from random import Random
from typing import Any

import pytest

import kdissect
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.canonical import CanonicalDecoder, canonical_decoder, emitted_decoder
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import Value
from kdissect.decoders.quirks import may_answer_in_other_version
from kdissect.model.native import native
from kdissect.schema import protocol_messages
from tests.support.console import CAPTURES

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

# Between them every API in nearly every version that brokers of three releases answer, and records.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka39_franz_raw.pcapng", "kafka44_franz_raw.pcapng",
    "kafka44_java_produce.pcapng", "kafka44_java_share.pcapng", "kafka37_snapshot.pcapng.gz",
)  # fmt: skip
Case = tuple[bytes, int, CanonicalDecoder, CanonicalDecoder]


@cache
def cases() -> tuple[Case, ...]:
    """Bodies of recordings with both decoders, each once."""
    found: dict[tuple[object, ...], Case] = {}
    for name in NAMES:
        for exchange in kdissect.open(CAPTURES / name):
            key, version = exchange.api_key, exchange.api_version
            for is_response, frame, offset in (
                (False, exchange.request, exchange.request_body_offset),
                (True, exchange.response, exchange.response_body_offset),
            ):
                if key is None or version is None or frame is None or not offset:
                    continue
                if is_response and may_answer_in_other_version(key):
                    continue
                both = decoders(key, version, is_response)
                if both is not None:
                    found[key, version, is_response, frame.data[offset:]] = frame.data, offset, *both
    return tuple(found.values())


@cache
def decoders(key: int, version: int, is_response: bool) -> tuple[CanonicalDecoder, CanonicalDecoder] | None:
    """Return the compiled decoder and the emitted one, or None without a compiled one."""
    message = known_body(key, version, is_response)
    compiled = None if message is None else canonical_decoder(message, version)
    if message is None or not is_compiled(compiled):
        return None
    return compiled, emitted_decoder(Layout(message, version))  # type: ignore[return-value]


def is_compiled(decode: Any) -> bool:
    return type(getattr(decode, "__self__", None)) is native.CanonicalBody


def shown(decoded: Any) -> Any:
    """Return all of it, types too: equal numbers of different types are not the same."""
    if decoded is None:
        return None
    records_fields = decoded.records_fields
    kinds = None if records_fields is None else [type(records_field) for records_field in records_fields]
    return type(decoded), decoded._replace(value=kinds_of(decoded.value)), decoded.value, kinds


def kinds_of(value: Any) -> Any:
    if isinstance(value, Value):
        names = type(value).__slots__
        return type(value), [kinds_of(getattr(value, name, "absent")) for name in names]
    if isinstance(value, list):
        return [kinds_of(item) for item in value]
    return type(value), bytes(value) if isinstance(value, memoryview) else value


def test_nearly_every_kind_of_body_is_known() -> None:
    unknown = {
        message.name
        for key in range(200)
        if (api := protocol_messages.api(key))
        for message in (api.request, api.response)
        for version in message.versions
        if not is_compiled(canonical_decoder(message, version))
    }
    assert unknown == {"FetchSnapshotResponse"}


def test_bodies_of_recordings() -> None:
    canonical = 0
    for data, offset, compiled, emitted in cases():
        found = compiled(data, offset)
        canonical += found is not None
        assert shown(found) == shown(emitted(data, offset))
    assert canonical > 1000


def test_bodies_that_are_cut_or_damaged() -> None:
    random = Random(12)
    canonical = 0
    for data, offset, compiled, emitted in cases():
        for damaged in [data[:-1], data + b"\0", data[: random.randint(offset, len(data))]] + [
            damage(data, offset, random) for _ in range(6)
        ]:
            found = compiled(damaged, offset)
            canonical += found is not None
            assert shown(found) == shown(emitted(damaged, offset))
    assert canonical > 1000


@pytest.mark.exhaustive
def test_nothing_is_kept() -> None:
    """A number that is not given back is nowhere to be seen, but that memory grows."""

    def blocks_after_decoding() -> int:
        for data, offset, compiled, _ in cases():
            compiled(data, offset)
            compiled(data[:-1], offset)
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after_decoding()  # what is made once
    before = blocks_after_decoding()
    assert blocks_after_decoding() - before < 20


def damage(data: bytes, offset: int, random: Random) -> bytes:
    """Return a byte or two changed, most of them where lengths and counts stand."""
    made = bytearray(data)
    for _ in range(random.randint(1, 2)):
        if offset < len(data):
            at = min(len(data) - 1, offset + int(random.expovariate(0.05)))
            made[at] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(made)


def test_an_offset_behind_the_bytes() -> None:
    for data, _, compiled, emitted in cases()[:20]:
        for offset in (len(data), len(data) + 1, 1 << 40):
            assert shown(compiled(data, offset)) == shown(emitted(data, offset))
