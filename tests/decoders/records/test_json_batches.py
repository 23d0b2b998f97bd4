"""Batches made into dicts at once are those that are made record by record, or there are none."""

from random import Random
from typing import Any

import pytest

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.json_batches import user_batches
from kdissect.engine.nested_records import batch_values
from kdissect.model.record_batch import CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, RecordFault
from tests.support.batches import batch_bytes, kafka_python_batch, record_bytes

LENGTHS = [0, 1, 5, 30, 60, 63, 64, 65, 130, 8190, 8200]  # around those of varints of one, two, three bytes
DELTAS = [0, 1, 63, 64, -1, -65, 8191, 8192, 1 << 20, (1 << 31) - 1]


def slowly(data: bytes) -> list[dict[str, Any]] | None:
    """The batches made one by one; None where anything is wrong in them."""
    found = split_batches(data, 0, len(data), may_be_cut=True)
    faults: list[tuple[int, RecordFault]] = []
    batches = batch_values(found.batches, None, faults, show_secrets=False)
    return None if faults or found.faults or found.cut else batches


def content(random: Random) -> bytes | None:
    length = random.choice(LENGTHS[: random.choice([5, 9, 11])])
    return random.choice([None, b"k" * length, "é".encode() * (length // 2), bytes([0xFF]) * length])


def record(random: Random) -> bytes:
    headers = [
        ("h" * random.choice([0, 3, 70]), content(random)) for _ in range(random.choice([0, 0, 0, 1, 2]))
    ]
    deltas = random.choice(DELTAS), random.choice(DELTAS)
    return record_bytes(*deltas, content(random), content(random), headers, random.choice([0, 0, 7]))


@pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME, TRANSACTIONAL, LOG_APPEND_TIME | TRANSACTIONAL])
def test_any_records(attributes: int) -> None:
    random = Random(attributes)
    for _ in range(100):
        count = random.choice([0, 1, 1, 2, 5])
        data = batch_bytes(b"".join(record(random) for _ in range(count)), count, attributes=attributes)
        made = user_batches(data * 2, 0, len(data) * 2)
        assert made == slowly(data * 2)
        assert made is not None


def test_damaged_records() -> None:
    random = Random(1)
    fitting = 0
    for _ in range(2000):
        count = random.choice([1, 1, 2, 3])
        records = bytearray(b"".join(record(random) for _ in range(count)))
        for _ in range(random.choice([1, 1, 2])):
            place = random.randrange(min(len(records), 12))
            records[place] = random.choice([0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF, random.randrange(256)])
        data = batch_bytes(bytes(records), count)
        made = user_batches(data, 0, len(data))
        assert made == slowly(data)
        fitting += made is not None
    assert 100 < fitting < 1900


@pytest.mark.parametrize(
    ("attributes", "count", "wrong"),
    [(CONTROL, 1, None), (DELETE_HORIZON, 1, None), (5, 1, None), (0, 2, None), (0, 1, 7), (-1, 1, None)],
)
def test_what_is_left_to_others(attributes: int, count: int, wrong: int | None) -> None:
    data = batch_bytes(record_bytes(value=b"v"), count, attributes=attributes, crc=wrong)
    assert user_batches(data, 0, len(data)) is None


def test_lengths_that_lead_nowhere() -> None:
    data = batch_bytes(record_bytes(value=b"v"))
    for length in [-(1 << 31), -13, -12, -11, 0, 48, len(data) - 13, len(data) - 11, (1 << 31) - 1]:
        assert user_batches(batch_bytes(record_bytes(value=b"v"), length=length), 0, len(data)) is None


@pytest.mark.parametrize("codec", range(5))
def test_codecs(codec: int) -> None:
    data = kafka_python_batch([(1_700_000_000_000 + n, b"k", b"v" * n, []) for n in range(200)], codec)
    assert user_batches(data, 0, len(data)) == slowly(data)
    assert slowly(data)
