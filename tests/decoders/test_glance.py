"""A glance tells of a body what decoding it whole tells, or nothing."""

from collections.abc import Iterator
from functools import cache

import kdissect
from kdissect.decoders.bodies import decode_once
from kdissect.decoders.glance import glancer
from kdissect.decoders.records.sections import record_sections
from kdissect.engine.bodies import body_of
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES

# Between them every API in nearly every version that brokers of three releases answer, and records.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka39_franz_raw.pcapng", "kafka44_franz_raw.pcapng",
    "kafka44_java_produce.pcapng", "kafka44_java_share.pcapng", "kafka37_snapshot.pcapng.gz",
    "tansu_rdk216_acks.pcap",
)  # fmt: skip
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


def test_a_glance_tells_what_the_others_tell() -> None:
    told = with_errors = with_records = 0
    for exchange, is_response, frame, offset, key, version in sides():
        glance = glancer(key, version, is_response)(frame.data, offset)
        if glance is None:
            continue
        told += 1
        found = body_of(exchange, "response" if is_response else "request", show_secrets=False)
        assert found.error is None
        assert found.anomalies == ()
        summary = exchange.response_summary() if is_response else exchange.request_summary()
        assert glance.errors == summary.errors
        assert glance.sections == record_sections(frame.data, offset, key, version, is_response)
        with_errors += bool(glance.errors)
        with_records += bool(glance.sections)
    assert told > 0.6 * len(sides())  # others have tags or payloads
    assert with_errors > 100
    assert with_records > 100


def test_plain_bodies_know_where_their_records_stand() -> None:
    count = 0
    for _, is_response, frame, offset, key, version in sides():
        decoded = decode_once(frame, offset, key, version, is_response)
        if decoded is not None and decoded.sections is not None:
            count += 1
            assert decoded.sections == record_sections(frame.data, offset, key, version, is_response)
    assert count > 150


def test_nothing_is_told_of_bytes_that_do_not_fit() -> None:
    seen = set()
    for _, is_response, frame, offset, key, version in sides():
        if (key, version, is_response) in seen or len(frame.data) > 500:
            continue
        seen.add((key, version, is_response))
        look = glancer(key, version, is_response)
        assert look(frame.data + b"\0", offset) is None
        assert not any(look(frame.data[:end], offset) for end in range(offset, len(frame.data)))
    assert len(seen) > 400


def test_nothing_is_told_of_unknown_apis() -> None:
    assert glancer(9999, 0, False)(b"", 0) is None
    assert glancer(0, 9999, True)(b"", 0) is None
