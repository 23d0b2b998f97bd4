"""Consumers that fetch one offset again and again although records came, and those that look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.decoders.encoder import encode_response
from kdissect.model.cause import Diagnosis
from tests.causes.diagnosing import capture, diagnosed, ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import BROKER

_FETCH = 1
_GOOD = batch_bytes(record_bytes(value=b"paid"))


def _fetch(talk: Talk, offset: int, records: bytes, version: int = 4, *, wait: float = 0.5) -> Talk:
    """Return a Fetch of one partition with its response."""
    partition = {"partition": 0, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": 1024}
    talk.ask(
        _FETCH, version,
        {
            "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1024, "isolation_level": 0,
            "topics": [{"topic": "orders", "partitions": [partition]}],
        },
    )  # fmt: skip
    row = {
        "partition_index": 0, "error_code": 0, "high_watermark": 1000, "last_stable_offset": 1000,
        "log_start_offset": 0, "aborted_transactions": None, "records": records,
    }  # fmt: skip
    body = {"throttle_time_ms": 0, "responses": [{"topic": "orders", "partitions": [row]}]}
    return talk.answer(_FETCH, version, body).wait(wait)


def _refetches(folder: Path, records: bytes, times: int = 5) -> Diagnosis:
    talk = Talk("reader")
    for _ in range(times):
        _fetch(talk, 40, records)
    return what_is_wrong(folder, talk)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (_GOOD, "The batches are whole and their checksums right."),
        (batch_bytes(record_bytes(value=b"paid"), crc=1), "The checksum of the first batch is wrong."),
        (batch_bytes(b"\x7f" + bytes(9)), "its content is not"),
        (
            batch_bytes(record_bytes(value=bytes(8000)))[:1024],
            "8,070 bytes, and the response holds 1,024",
        ),
        (_GOOD[:9], "holds only 9 bytes"),
    ],
    ids=["whole", "checksum", "content", "larger than the limit", "hardly any"],
)
def test_the_offset_and_what_the_bytes_show_are_told(tmp_path: Path, records: bytes, why: str) -> None:
    first = _refetches(tmp_path, records).causes[0]
    assert first.id == "offset-not-passed"
    assert "'reader'" in first.sentence
    assert "topic 'orders' (partition 0 from offset 40) again and again: 4 times" in first.sentence
    assert why in first.sentence


def test_a_consumer_that_comes_past_it_is_told_so(tmp_path: Path) -> None:
    talk = Talk("reader")
    for offset in (40, 40, 40, 40, 40, 41, 42):
        _fetch(talk, offset, _GOOD)
    assert "It got past them later." in what_is_wrong(tmp_path, talk).causes[0].sentence


def test_two_repeats_are_a_seek_or_a_pause(tmp_path: Path) -> None:
    assert ids(_refetches(tmp_path, _GOOD, 3)) == []


def test_long_polls_bring_nothing(tmp_path: Path) -> None:
    assert ids(_refetches(tmp_path, b"", 20)) == []


def test_a_consumer_that_seeks_back_again_and_again_reads_in_between(tmp_path: Path) -> None:
    talk = Talk("reader")
    for _ in range(10):
        _fetch(_fetch(talk, 40, _GOOD), 41, _GOOD)
    assert ids(what_is_wrong(tmp_path, talk)) == []


def test_consumers_that_start_again_or_share_a_client_id_have_their_own_connections(tmp_path: Path) -> None:
    talks = [_fetch(Talk("reader", 40000 + number), 40, _GOOD) for number in range(6)]
    assert ids(what_is_wrong(tmp_path, *talks)) == []


def test_clients_that_a_proxy_carries_on_one_connection_read_by_themselves(tmp_path: Path) -> None:
    talk = Talk("reader-0")
    for offset in (40, 41, 42):
        for number in range(6):
            talk.client_id = f"reader-{number}"
            _fetch(talk, offset, _GOOD, wait=0.1)
    assert "offset-not-passed" not in ids(what_is_wrong(tmp_path, talk))


def test_one_of_several_clients_on_a_connection_is_named(tmp_path: Path) -> None:
    talk = Talk("reader-0")
    for offset in (40, 41, 42, 43, 44):
        talk.client_id = "stands"
        _fetch(talk, 7, _GOOD, wait=0.1)
        talk.client_id = "goes"
        _fetch(talk, offset, _GOOD, wait=0.1)
    assert "'stands' at" in what_is_wrong(tmp_path, talk).causes[0].sentence


def test_a_program_that_tries_versions_is_no_consumer(tmp_path: Path) -> None:
    talk = Talk("tester")
    for version in (4, 5, 6, 4, 5, 6):
        _fetch(talk, 40, _GOOD, version)
    assert "offset-not-passed" not in ids(what_is_wrong(tmp_path, talk))


def test_members_begin_again_at_the_committed_offset_when_their_group_rebalances() -> None:
    assert "offset-not-passed" not in ids(diagnosed(capture("kafka44_java_rejoins")))


def test_a_fetch_whose_response_is_missing_moves_the_offset(tmp_path: Path) -> None:
    """A Fetch of a session that names no partition asks for the offset that the last one named (KIP-227)."""
    talk = Talk("reader")

    def fetch(offset: int | None) -> bytes:
        row = {"partition": 0, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": 1024}
        topics = [] if offset is None else [{"topic": "orders", "partitions": [row]}]
        talk.ask(
            _FETCH, 7,
            {
                "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1024, "isolation_level": 0,
                "session_id": 5, "session_epoch": 1, "topics": topics, "forgotten_topics_data": [],
            },
        )  # fmt: skip
        answered = {
            "partition_index": 0, "error_code": 0, "high_watermark": 1000, "last_stable_offset": 1000,
            "log_start_offset": 0, "aborted_transactions": None, "records": _GOOD,
        }  # fmt: skip
        responses = [{"topic": "orders", "partitions": [answered]}]
        body = {"throttle_time_ms": 0, "error_code": 0, "session_id": 5, "responses": responses}
        return encode_response(_FETCH, 7, talk._next, body)

    for offset in (40, 41, None, None, None):
        response = fetch(offset)
        if offset == 41:
            talk.talk.lose(BROKER, response)
        else:
            talk.talk.broker(response)
        talk.wait(0.5)
    assert "offset-not-passed" not in ids(what_is_wrong(tmp_path, talk))
