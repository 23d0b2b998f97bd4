"""Validating a body tells of it what decoding it whole tells, or nothing."""

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

import kdissect
from kdissect.decoders.as_json.json_bodies import request_to_jsonable, response_to_jsonable
from kdissect.decoders.bodies import decode_once, summarize_response
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.summary import NO_SUMMARY
from kdissect.decoders.generated.validate import Validation, _coded, _walking, validator
from kdissect.decoders.records.records_fields import has_pieces
from kdissect.engine.records.record_sets import field_batches
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES
from tests.support.messages.records import records_fields_of

# Between them every API in nearly every version that brokers of three releases answer, and records.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka39_franz_raw.pcapng", "kafka44_franz_raw.pcapng",
    "kafka44_java_produce.pcapng", "kafka44_java_share.pcapng", "kafka37_snapshot.pcapng.gz",
    "tansu_rdk216_acks.pcap",
)  # fmt: skip
FETCH, METADATA = 1, 3  # org.apache.kafka.common.protocol.ApiKeys
Side = tuple[Exchange, bool, Frame, int, int, int]


@cache
def sides() -> tuple[Side, ...]:
    return tuple(
        side for name in NAMES for exchange in kdissect.open(CAPTURES / name) for side in of(exchange)
    )


def of(exchange: Exchange) -> Iterator[Side]:
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return
    for is_response, frame, offset in (
        (False, exchange.request, exchange.request_body_offset),
        (True, exchange.response, exchange.response_body_offset),
    ):
        if frame is not None and offset:
            yield exchange, is_response, frame, offset, key, version


def judged(data: bytes, offset: int, key: int, version: int, is_response: bool) -> Validation | None:
    """Return the expected result of validation, by the decoders that make values; None for a bad body."""
    decode = response_to_jsonable if is_response else request_to_jsonable
    try:
        found = decode(data, offset, key, version)
    except DecodeError:
        return None
    if found.problems or found.end != len(data):
        return None
    sections = records_fields_of(data, offset, key, version, is_response)
    lists = [batches for _, batches in field_batches(data, sections, is_response=is_response)]
    if any(batches.faults or any(batch.faults for batch in batches.batches) for batches in lists):
        return None
    summary = summarize_response(data, offset, key, version) if is_response else NO_SUMMARY
    return Validation(summary.errors, sum(len(batches.batches) for batches in lists))


def test_validating_tells_what_the_others_tell() -> None:
    told = with_errors = with_records = 0
    for _, is_response, frame, offset, key, version in sides():
        validated = validator(key, version, is_response)(frame.data, offset)
        if validated is None:
            continue
        told += 1
        assert validated == judged(frame.data, offset, key, version, is_response)
        with_errors += bool(validated.errors)
        with_records += bool(validated.batches)
    assert told > 0.6 * len(sides())  # others have tags, in Python alone also payloads
    assert with_errors > 100
    assert with_records > 100


@pytest.mark.exhaustive
def test_validating_tells_the_same_of_damaged_bodies() -> None:
    random = Random(12)
    told = odd = 0
    for _, is_response, frame, offset, key, version in sides():
        if len(frame.data) > 3000:
            continue
        look = validator(key, version, is_response)
        for _ in range(3):
            data = damaged(frame.data, offset, random)
            validated, right = look(data, offset), judged(data, offset, key, version, is_response)
            assert validated is None or validated == right
            told += validated is not None
            odd += right is None
    assert told > 1000
    assert odd > 1000


def damaged(data: bytes, offset: int, random: Random) -> bytes:
    out = bytearray(data)
    for _ in range(random.randint(1, 3)):
        if len(out) > offset:
            at = random.randrange(offset, len(out))
            size = random.choice((0, 0, 1, 1, 1, 1, 2, 4))  # of what is replaced by one byte
            out[at : at + size] = bytes((random.choice((0, 0, 1, 2, 127, 128, 255)),))
    return bytes(out)


def test_records_of_any_length() -> None:
    """The same body with its batches twice, with none, with half of them, with a byte of them changed."""
    fitting = count = 0
    for _, is_response, frame, offset, key, version in sides():
        data = frame.data
        sections = records_fields_of(data, offset, key, version, is_response)
        if len(sections) != 1 or sections[0].snapshot or len(data) > 50_000:
            continue
        start, end = sections[0].start, sections[0].end
        batches, look = data[start:end], validator.__wrapped__(key, version, is_response)
        for records in (
            batches[: len(batches) // 2], bytes(len(batches) // 2), batches, batches * 2, b"",
            batches[:30] + bytes((batches[30] ^ 1,)) + batches[31:] if len(batches) > 30 else b"x",
        ):  # fmt: skip
            for size in {len(records), len(batches), -1}:
                changed = with_records(data, start, size, records, data[end:], is_flexible(key, version))
                validated, right = look(changed, offset), judged(changed, offset, key, version, is_response)
                assert validated is None or validated == right
                if right is not None and size == len(records):
                    assert validated == right
                fitting += right is not None
                count += 1
    assert fitting > 300
    assert count > 1000


def test_every_byte_before_records_counts() -> None:
    seen = set()
    for _, is_response, frame, offset, key, version in sides():
        data = frame.data
        sections = records_fields_of(data, offset, key, version, is_response)
        kind = key, version, is_response, len(sections)
        if not sections or kind in seen or len(sections) > 2 or len(data) > 2000:
            continue
        seen.add(kind)
        for value in (0, 1, 6, 255):
            look = validator.__wrapped__(key, version, is_response)
            places = [*range(offset, sections[0].start), *range(sections[-1].end, len(data))]
            for at in places:
                changed = data[:at] + bytes((value,)) + data[at + 1 :]
                right = judged(changed, offset, key, version, is_response)
                assert look(changed, offset) in (None, right)
                assert look(changed, offset) in (None, right)
    assert len(seen) > 20


def test_bodies_of_many_elements_are_told_too() -> None:
    """A Metadata response of version 0: no brokers, topics of an error code, a name, no partitions."""
    topics = [b"\0\0\0\x01x" + bytes(4)] * 5000
    topics[4000] = b"\0\x05" + topics[0][2:]
    body = bytes(4) + len(topics).to_bytes(4) + b"".join(topics)
    look = validator.__wrapped__(METADATA, 0, True)
    for _ in range(30):
        assert look(body, 0) == Validation((5,), 0)
        assert look(body[:-1], 0) is None


def is_flexible(key: int, version: int) -> bool:
    message = known_body(key, version, False)
    assert message is not None
    return message.is_flexible(version)


def with_records(data: bytes, start: int, size: int, records: bytes, rest: bytes, compact: bool) -> bytes:
    """Return `data` up to the start of the records, but with another length before them."""
    if not compact:
        return data[: start - 4] + size.to_bytes(4, signed=True) + records + rest
    at = start - 1
    while data[at - 1] > 127:  # the other bytes of the varint
        at -= 1
    value, length = size + 1, bytearray()
    while value > 127:
        length.append(value & 127 | 128)
        value >>= 7
    return data[:at] + bytes((*length, value)) + records + rest


@pytest.mark.exhaustive
@pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
def test_compiled_and_by_code_tell_the_same() -> None:
    """Code tells less: nothing of messages that may have payloads, and of bodies with tags."""
    by_code = told = 0
    for _, is_response, frame, offset, key, version in sides():
        message = known_body(key, version, is_response)
        if message is None or has_pieces(message) or len(frame.data) > 3000:
            continue
        compiled = _walking(message, version)(frame.data, offset)
        code = _coded(message, version)(frame.data, offset)
        assert code in (None, compiled)
        by_code += code is not None
        told += compiled is not None
    assert by_code > 1000
    assert told > by_code


@pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
def test_what_is_in_tags_is_validated_by_the_compiled_part() -> None:
    message = known_body(FETCH, 18, False)
    assert message is not None
    tags = {"cluster_id": "c", "replica_state": {"replica_id": 1, "replica_epoch": 2}}
    fields = {"max_wait_ms": 1, "min_bytes": 1, "session_id": 0, "session_epoch": 0, "isolation_level": 0}
    none = {"topics": [], "forgotten_topics_data": [], "rack_id": "", "max_bytes": 1}
    data = encode(message, 18, {**fields, **none, **tags})
    size, known = data[-14], bytes([2, 0, 2, 2]) + b"c" + bytes([1, 13])
    assert data.endswith(known + data[-13:])
    assert (size, validator(FETCH, 18, False)(data, 0)) == (13, Validation((), 0))
    for wrong in (
        data[:-15] + bytes([0]) + data[-14:],  # the first tag twice
        data[:-14] + bytes([12]) + data[-13:],  # shorter than what is in it
        data[:-17] + bytes([9]) + data[-16:],  # a text longer than its tag
    ):
        assert validator(FETCH, 18, False)(wrong, 0) is None


def test_plain_bodies_know_where_their_records_stand() -> None:
    count = 0
    for _, is_response, frame, offset, key, version in sides():
        decoded = decode_once(frame, offset, key, version, is_response)
        if decoded is not None and decoded.records_fields is not None:
            count += 1
            assert decoded.records_fields == records_fields_of(frame.data, offset, key, version, is_response)
    assert count > 150


def test_nothing_is_told_of_bytes_that_do_not_fit() -> None:
    seen = set()
    for _, is_response, frame, offset, key, version in sides():
        if (key, version, is_response) in seen or len(frame.data) > 500:
            continue
        seen.add((key, version, is_response))
        look = validator(key, version, is_response)
        assert look(frame.data + b"\0", offset) is None
        assert not any(look(frame.data[:end], offset) for end in range(offset, len(frame.data)))
    assert len(seen) > 400


def test_nothing_is_told_of_unknown_apis() -> None:
    assert validator(9999, 0, False)(b"", 0) is None
    assert validator(0, 9999, True)(b"", 0) is None
