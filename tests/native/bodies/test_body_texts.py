"""Both bodies of exchanges compiled, records and all, are those of Python."""

import struct
from random import Random

import pytest

from kdissect.api import Dissection
from kdissect.cli.formats.json_lines.body_lines import BodyTexts, NameOf, Texts
from kdissect.cli.formats.jsonl import json_bytes
from kdissect.decoders.encoder import encode
from kdissect.engine.exchange_rows import Row, add_bodies
from kdissect.engine.records.nested_records import nest_batches
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.model.record_batch import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL
from kdissect.schema.protocol_messages import request_message, response_message
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, kafka_python_batch, message_bytes, record_bytes

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

ALL = sorted(map(str, CAPTURES.glob("*.pcap*")))
CONNECTION = ConnectionInfo("0" * 16, "set", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), 0)
PRODUCE, FETCH = 0, 1
HEADER = bytes(5)  # correlation id and no tags (spec/004)
OWN, USERS = "__consumer_offsets", "orders"
TIME = 1_700_000_000_000
CONTENTS = [None, b"", b"k", b"v" * 70, 'é"\\\n'.encode() * 9, b"\xff\0", b"x" * 9000]
DELTAS = [0, 1, 63, 64, -1, -65, 8191, 1 << 20, (1 << 31) - 1, -(1 << 31)]
TIMES = [*DELTAS, 1 << 40, (1 << 63) - 1, -(1 << 63)]
PLACES = [0, 1, (1 << 63) - 1, -(1 << 63)]


def produce(records: bytes | None, topic: str = USERS, version: int = 9) -> Exchange:
    """Return a request with records."""
    partition = {"index": 0, "records": records}
    body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": topic, "partition_data": [partition]}]}
    message = request_message(PRODUCE)
    assert message is not None
    exchange = Exchange(CONNECTION, 0, PRODUCE, version)
    exchange.request = frame(encode(message, version, body))
    return exchange


def fetch(records: bytes | None, topic_id: bytes) -> Exchange:
    """Return a response with records of a topic that has but an id."""
    partition = {"partition_index": 0, "records": records}
    body = {"responses": [{"topic_id": topic_id, "partitions": [partition] * 2}]}
    message = response_message(FETCH)
    assert message is not None
    exchange = Exchange(CONNECTION, 0, FETCH, 13)
    exchange.response = frame(HEADER + encode(message, 13, body))
    exchange.response_body_offset = len(HEADER)
    return exchange


def frame(data: bytes) -> Frame:
    return Frame(data, len(data), 1, 1, 0, 0)


def name_of(_connection: ConnectionInfo, topic_id: bytes) -> str | None:
    """Return what ids are called here; raises ValueError as those do who cannot say."""
    if topic_id == bytes([9] * 16):
        raise ValueError
    return {1: OWN, 2: USERS}.get(topic_id[0])


def by_python(exchange: Exchange, topic_name: NameOf | None) -> Texts | None:
    """Return the texts as Python makes them of any bodies; None where it says that something is wrong in
    them.
    """
    row: Row = {
        "request": None if exchange.request is None else {},
        "response": None if exchange.response is None else {},
    }
    anomalies = add_bodies(row, exchange, False)
    if topic_name is not None:

        def name(records: RecordSet) -> str | None:
            topic_id = records.records_field.topic_id
            return None if topic_id is None else topic_name(records.exchange.connection, topic_id)

        anomalies += nest_batches(row, exchange, False, name)
    if anomalies:
        return None
    asked, answered = (
        None if row[side] is None else json_bytes(row[side]["body"]) for side in ("request", "response")
    )
    return asked, answered


def both(exchange: Exchange, *, counted: bool = False) -> Texts | None:
    """Return the compiled texts, which are those of Python."""
    topic_name = None if counted else name_of
    found = BodyTexts(topic_name, show_secrets=False).texts(exchange)
    assert found is None or found == by_python(exchange, topic_name)
    return found


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", ALL)
def test_captures(path: str) -> None:
    dissection = Dissection(path)
    names: list[NameOf | None] = [dissection.topics.name, None]
    for exchange in dissection:
        for topic_name in names:
            found = BodyTexts(topic_name, show_secrets=False).texts(exchange)
            assert found is None or found == by_python(exchange, topic_name)


def a_record(random: Random) -> bytes:
    headers = [
        ("h" * random.choice([0, 70]), random.choice(CONTENTS)) for _ in range(random.choice([0, 0, 2]))
    ]
    return record_bytes(
        random.choice(DELTAS), random.choice(TIMES), random.choice(CONTENTS), random.choice(CONTENTS), headers
    )


def a_batch(random: Random, records: bytes, count: int) -> bytes:
    attributes = random.choice([0, 0, LOG_APPEND_TIME, TRANSACTIONAL, LOG_APPEND_TIME | TRANSACTIONAL])
    return batch_bytes(
        records, count, base_offset=random.choice(PLACES), attributes=attributes,
        base_timestamp=random.choice([TIME, *PLACES]), producer_id=random.choice(PLACES),
        epoch=random.choice([-1, 7]), sequence=random.choice([-1, 0, (1 << 31) - 1]),
        leader_epoch=random.choice([-1, 3]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_any_records(seed: int) -> None:
    random = Random(seed)
    taken = 0
    for _ in range(100):
        count = random.choice([0, 1, 1, 2, 5])
        records = b"".join(a_record(random) for _ in range(count))
        data = b"".join(a_batch(random, records, count) for _ in range(random.choice([1, 1, 2])))
        taken += both(produce(data)) is not None
        both(fetch(data, bytes([2] * 16)))
    assert taken > 60  # of the others numbers are out of 64 bits


def test_damaged_records() -> None:
    random = Random(1)
    fitting = 0
    for _ in range(1500):
        count = random.choice([1, 1, 2, 3])
        records = bytearray(b"".join(a_record(random) for _ in range(count)))
        for _ in range(random.choice([1, 1, 2])):
            place = random.randrange(min(len(records), 14))
            records[place] = random.choice([0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF, random.randrange(256)])
        fitting += both(produce(batch_bytes(bytes(records), count))) is not None
    assert 100 < fitting < 1400


def test_damaged_batches() -> None:
    random = Random(2)
    for _ in range(500):
        data = bytearray(batch_bytes(a_record(random)) + batch_bytes(a_record(random)))
        place = random.randrange(61)
        data[place] = random.choice([0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)])
        both(produce(bytes(data)))
        both(fetch(bytes(data[: random.randrange(len(data))]), bytes([2] * 16)))


@pytest.mark.parametrize("count", [-1, 0, 2, 20_001])
def test_another_count_of_records(count: int) -> None:
    assert both(produce(batch_bytes(record_bytes(value=b"v"), count))) is None


@pytest.mark.parametrize("codec", range(5))
def test_codecs(codec: int) -> None:
    data = kafka_python_batch([(TIME + n, b"k", b"v" * n, []) for n in range(200)], codec)
    assert both(produce(data * 2)) is not None
    for place in (61, 80, len(data) - 1):
        both(produce(data[:place] + b"\x55" + data[place + 1 :]))


CASES = {
    "none": None,
    "empty": b"",
    "control": batch_bytes(record_bytes(key=b"\0\0\0\1", value=b"\0\0\0\0\0\5"), attributes=CONTROL),
    "legacy": message_bytes(b"v") + message_bytes(None, magic=0),
    "much": kafka_python_batch([(TIME, None, bytes(1 << 20), [])]),
    "much, small": kafka_python_batch([(TIME, None, bytes(1 << 20), [])], 1),
    "no content": batch_bytes(b"", 0, attributes=1),
    "an offset over 64 bits": batch_bytes(record_bytes(1), base_offset=(1 << 63) - 1),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_plain_is_told_by_python(case: str) -> None:
    for exchange in (produce(CASES[case]), produce(CASES[case], OWN), fetch(CASES[case], bytes([1] * 16))):
        assert both(exchange) is not None
        assert both(exchange, counted=True) is not None


def test_a_cut_batch_at_the_end_of_a_fetch() -> None:
    data = batch_bytes(record_bytes(value=b"v"))
    found = both(fetch(data + data[:-1], bytes([2] * 16)))
    assert found is not None
    assert b'"cut":%d' % (len(data) - 1) in (found[1] or b"")
    assert both(produce(data + data[:-1])) is None


@pytest.mark.parametrize(("first", "is_taken"), [(1, True), (2, True), (3, True), (9, False)])
def test_names_of_ids(first: int, is_taken: bool) -> None:
    key = struct.pack(">hh3sh1si", 1, 1, b"g", 1, b"t", 0)[:7]
    data = batch_bytes(record_bytes(key=key, value=b"v"))
    assert (both(fetch(data, bytes([first] * 16))) is not None) == is_taken


def test_errors_of_others_are_theirs() -> None:
    def fail(_connection: ConnectionInfo, _topic_id: bytes) -> str | None:
        raise KeyError("no such broker")

    with pytest.raises(KeyError, match="no such broker"):
        BodyTexts(fail, show_secrets=False).texts(fetch(b"", bytes([1] * 16)))
