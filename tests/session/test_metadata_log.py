"""A Fetch of the metadata log counts as near secrets, whole or damaged; a Fetch of users' topics does not."""

import pytest

from kdissect.model.frame import Frame
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange, State
from tests.history.talk import START_NS, Talk
from tests.support.messages.planted import SECRET

FETCH = 1
USERS_ID = bytes(range(0x40, 0x50))


def fetch(version: int, topic: str, topic_id: bytes, records: bytes | None = None) -> Exchange:
    """Return a Fetch of ten partitions that are empty, or of one with these bytes for records."""
    named = {"topic_id": topic_id} if version >= 13 else {"topic": topic}
    partitions = 10 if records is None else 1
    asked = [{"partition": number} for number in range(partitions)]
    part = {"high_watermark": 0, "last_stable_offset": 0, "log_start_offset": 0, "records": records}
    answered = [
        part | {"partition_index": number, "aborted_transactions": []} for number in range(partitions)
    ]
    return Talk().ask(
        FETCH, version, {"topics": [named | {"partitions": asked}]},
        {"responses": [named | {"partitions": answered}]},
    )  # fmt: skip


def damaged(exchange: Exchange, side: str, at: int, bits: int) -> None:
    data = bytearray(getattr(exchange, side).data)
    data[at] ^= bits
    setattr(exchange, side, Frame(bytes(data), len(data), 1, 1, START_NS, START_NS))


def cut(exchange: Exchange, end: int) -> Exchange:
    """Return the same with so many bytes of its response."""
    assert exchange.response is not None
    data = exchange.response.data
    exchange.response = Frame(data[:end], len(data), 1, 1, START_NS, START_NS)
    return exchange


def orphan(exchange: Exchange) -> Exchange:
    """Return the response alone, after its API was inferred."""
    exchange.request, exchange.request_summary_cache = None, None
    exchange.state = State.ORPHAN_RESPONSE
    return exchange


@pytest.mark.parametrize("version", range(5, 19))
def test_numbers_of_empty_partitions_are_not_the_id_of_the_metadata_log(version: int) -> None:
    exchange = fetch(version, "orders", USERS_ID)
    assert exchange.response is not None
    if version >= 12:  # zeros, then the array of length 0, which compact arrays write as 1
        assert METADATA_TOPIC_ID in exchange.response.data[:256]
    assert not exchange.is_near_secrets


def test_neither_are_they_where_the_response_does_not_decode() -> None:
    exchange = cut(orphan(fetch(16, "orders", USERS_ID)), -3)
    assert exchange.response is not None
    assert not exchange.response_summary().fits
    assert METADATA_TOPIC_ID in exchange.response.data[:256]
    assert not exchange.is_near_secrets


@pytest.mark.parametrize("version", [4, 11, 12, 13, 15, 18])
def test_the_metadata_log_is_near_secrets_from_either_side(version: int) -> None:
    exchange = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID, SECRET.encode())
    assert exchange.is_near_secrets
    assert orphan(exchange).is_near_secrets
    exchange = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID)
    exchange.response = None
    assert exchange.is_near_secrets


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
@pytest.mark.parametrize("version", [4, 11, 12, 13, 18])
def test_a_damaged_response_stays_near_secrets(version: int, bits: int) -> None:
    content = SECRET.encode() * 3
    whole = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID, content)
    assert whole.response is not None
    for at in range(4, whole.response.data.index(content)):  # behind the correlation id
        exchange = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID, content)
        damaged(exchange, "response", at, bits)
        assert exchange.is_near_secrets, at
        if not exchange.response_summary().fits:  # one that fits is of the topic that it names
            assert orphan(exchange).is_near_secrets, at


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
@pytest.mark.parametrize("version", [4, 11, 12, 13, 18])
def test_a_damaged_request_whose_response_is_cut_off_before_its_topics(version: int, bits: int) -> None:
    whole = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID)
    assert whole.request is not None
    for at in range(whole.request_body_offset, len(whole.request.data)):
        exchange = fetch(version, METADATA_TOPIC, METADATA_TOPIC_ID)
        damaged(exchange, "request", at, bits)
        cut(exchange, 9)
        if not exchange.request_summary().fits:
            assert exchange.is_near_secrets, at


@pytest.mark.parametrize("version", [11, 12, 16])
def test_a_record_of_users_with_the_name_of_the_log(version: int) -> None:
    """As in logs of brokers that users ship, in a body that lacks its end."""
    exchange = cut(fetch(version, "logs", USERS_ID, b"x" * 300 + METADATA_TOPIC.encode()), -3)
    assert not exchange.response_summary().fits
    assert not orphan(exchange).is_near_secrets


def test_what_nobody_can_read_counts_as_the_metadata_log() -> None:
    exchange = cut(orphan(fetch(16, "orders", USERS_ID)), 9)
    assert exchange.is_near_secrets
    exchange.api_version = 99
    assert exchange.is_near_secrets


def test_the_request_says_whose_response_cannot_be_read() -> None:
    exchange = cut(fetch(16, "orders", USERS_ID), 9)
    assert not exchange.is_near_secrets


def test_a_response_without_topics_is_of_no_log() -> None:
    asked = {"session_id": 7, "session_epoch": 3, "topics": []}
    assert not Talk().ask(FETCH, 16, asked, {"session_id": 7, "responses": []}).is_near_secrets
