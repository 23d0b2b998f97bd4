"""Batches as they are sent and as they are read: with one codec, or with two."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from kdissect.causes.evidence.recompressions import Recompressions
from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.exchange import Exchange
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from tests.history.talk import MS, START_NS, Talk
from tests.support.messages.batches import batch_bytes, record_bytes

_GZIP, _APPEND_TIME, _CONTROL = 1, 8, 32
_TOPIC = "t", "set"


def _batch(
    codec: int, base: int = 0, count: int = 3, attributes: int = 0, sequence: int = -1, value: bytes = b"v",
    late_ms: int = 0,
) -> bytes:  # fmt: skip
    """Return a batch, which has a producer id if it has a sequence."""
    records = b"".join(record_bytes(number, value=value) for number in range(count))
    return batch_bytes(
        gzip.compress(records) if codec else records, count, base_offset=base, attributes=codec | attributes,
        sequence=sequence, producer_id=min(sequence, 9), base_timestamp=1_000 + late_ms,
        max_timestamp=1_000 + late_ms,
    )  # fmt: skip


def _write(talk: Talk, records: bytes, base: int = 0, error: int = 0, **how: Any) -> Exchange:
    data = [{"index": 0, "records": records}]
    rows = [{"index": 0, "error_code": error, "base_offset": base}]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    return talk.ask(0, 3, asked, {"responses": [{"name": "t", "partition_responses": rows}]}, **how)


def _read(talk: Talk, records: bytes, partition: int = 0, **how: Any) -> Exchange:
    asked = {
        "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20,
        "topics": [{"topic": "t", "partitions": [
            {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        ]}],
    }  # fmt: skip
    row = {"partition_index": partition, "error_code": 0, "high_watermark": 9, "records": records}
    return talk.ask(1, 4, asked, {"responses": [{"topic": "t", "partitions": [row]}]}, **how)


def _found(*exchanges: Exchange, since_ms: int = 0) -> Recompressions:
    found = Recompressions(TopicNames(), {_TOPIC: START_NS + since_ms * MS})
    for one in exchanges:
        found.add(one)
    return found


def test_a_batch_that_comes_with_another_codec() -> None:
    talk = Talk()
    found = _found(_write(talk, _batch(_GZIP), base=7), _read(talk, _batch(0, base=7)))
    ((key, one),) = found.found.items()
    assert (key.topic, key.sent, key.stored, key.client.client_id) == ("t", "gzip", "none", "client")
    assert (one.first, one.seen.times, one.bytes) == ("offsets 7 to 9 of partition 0", 1, len(_batch(_GZIP)))


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"records": _batch(_GZIP)}, {"records": _batch(_GZIP)}),
        ({"records": _batch(_GZIP)}, {"records": _batch(0, base=1)}),
        ({"records": _batch(_GZIP)}, {"records": _batch(0), "partition": 1}),
        ({"records": _batch(_GZIP)}, {"records": _batch(0, count=2)}),
        ({"records": _batch(_GZIP, sequence=1)}, {"records": _batch(0, sequence=2)}),
        ({"records": _batch(_GZIP, attributes=_CONTROL)}, {"records": _batch(0, attributes=_CONTROL)}),
        ({"records": _batch(_GZIP), "error": 6}, {"records": _batch(0)}),
        ({"records": _batch(_GZIP), "base": -1}, {"records": _batch(0, base=-1)}),
        ({"records": _batch(_GZIP) + _batch(_GZIP)}, {"records": _batch(0)}),  # which is which?
        ({"records": _batch(_GZIP)}, {"records": _batch(0, value=b"another")}),
        ({"records": _batch(_GZIP)}, {"records": _batch(0, value=b"another", attributes=_APPEND_TIME)}),
        ({"records": _batch(_GZIP)}, {"records": _batch(0, late_ms=1)}),
        ({"records": _batch(_GZIP, sequence=1)}, {"records": _batch(0, sequence=1, late_ms=1)}),
        ({"records": _batch(_GZIP)[:-1] + b"?"}, {"records": _batch(0)}),  # its records cannot be read
    ],
)
def test_what_is_not_the_same_batch(sent: dict[str, Any], read: dict[str, Any]) -> None:
    talk = Talk()
    assert len(_found(_write(talk, **sent), _read(talk, **read)).found) == 0


@pytest.mark.parametrize("sequence", [-1, 5])
def test_a_broker_may_set_the_timestamps(sequence: int) -> None:
    talk = Talk()
    stored = _batch(0, sequence=sequence, late_ms=1, attributes=_APPEND_TIME)
    assert len(_found(_write(talk, _batch(_GZIP, sequence=sequence)), _read(talk, stored)).found) == 1


@pytest.mark.parametrize(
    ("name", "key", "version", "asked", "count"),
    [
        ("t", 19, 2, "topics", 0),
        ("t", 20, 1, "topic_names", 0),
        ("other", 20, 1, "topic_names", 1),
    ],
)
def test_another_topic_of_the_name(name: str, key: int, version: int, asked: str, count: int) -> None:
    talk = Talk()
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    body: dict[str, Any] = {asked: [name if key == 20 else topic], "timeout_ms": 1}
    if key == 19:
        body["validate_only"] = False
    exchanges = _write(talk, _batch(_GZIP)), talk.ask(key, version, body), _read(talk, _batch(0))
    assert len(_found(*exchanges).found) == count


def test_batches_before_the_second_codec_are_not_compared() -> None:
    for since_ms, count in ((10, 1), (11, 0)):
        talk = Talk()
        found = _found(_write(talk, _batch(_GZIP), at=10), _read(talk, _batch(0)), since_ms=since_ms)
        assert len(found.found) == count


def test_50_batches_or_1000_exchanges_end_the_comparison() -> None:
    talk = Talk()
    found = _found()
    for base in range(0, 150, 3):
        assert found.waits
        found.add(_write(talk, _batch(_GZIP, base), base))
        found.add(_read(talk, _batch(0, base)))
    assert not found.waits
    ((_, one),) = found.found.items()
    assert one.seen.times == 50
    found = _found(since_ms=100)
    before, after = (_write(talk, _batch(_GZIP), at=at) for at in (99, 100))
    for one in (*[before] * 2_000, *[after] * 999):
        found.add(one)
    assert found.waits
    found.add(after)
    assert not found.waits


def test_a_bounded_number_of_exchanges_is_taken() -> None:
    mixed: dict[tuple[str, str], int] = {}
    found, one = Recompressions(TopicNames(), mixed), _write(Talk(), _batch(_GZIP))
    for number in range(4):
        mixed[f"t{number}", "set"] = START_NS
        assert found.waits is True
        for _ in range(1_000):
            found.add(one)
        assert not found.waits
    assert found._left == 0


def test_a_bounded_number_of_topics_is_watched() -> None:
    mixed = {(f"t{number}", "set"): START_NS for number in range(30)}
    found = Recompressions(TopicNames(), mixed)
    talk = Talk()
    found.add(_write(talk, _batch(_GZIP)))
    assert len(found._watched) == 20


def test_topics_with_two_codecs() -> None:
    talk, topics = Talk(), TopicTraffic(TopicNames())
    for one in (
        _write(talk, _batch(_GZIP), at=1), _write(talk, _batch(_GZIP), at=3),
        _write(talk, _batch(0), error=6, at=5), _read(talk, _batch(0, attributes=_CONTROL), at=7),
    ):  # fmt: skip
        topics.add(one)
        topics.catch_up()
    assert topics.mixed == {}
    topics.add(_read(talk, _batch(0), at=9))
    topics.add(_read(talk, _batch(0), at=11))
    assert topics.mixed == {_TOPIC: START_NS + 10 * MS}
