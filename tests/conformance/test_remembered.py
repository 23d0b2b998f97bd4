"""Remembered summaries are those that the compiled summarizer makes, whatever is done to the bytes."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.decoders import remembered
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.encoder import encode
from kdissect.decoders.remembered import MOST_FREE_FORMS, MOST_OF_A_KIND, Memory, remembering
from kdissect.decoders.summary import summarizer
from kdissect.schema import registry
from tests.conformance.random_values import ValueMaker, all_bodies

API_KEYS = sorted(registry.api_keys())
PRODUCE, FETCH, CREATE_TOPICS = 0, 1, 19
MOST_PLACES = 80  # of longer bodies a sample is changed
SIZES = [
    1,
    2,
    60,
    122,
    123,
    124,
    125,
    126,
    127,
    128,
    129,
    130,
    16381,
    16382,
    16383,
    16384,
    16385,
    16386,
    70000,
]


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "room", 1 << 40)


def damaged(data: bytes, dice: random.Random) -> Iterator[bytes]:
    """Every byte changed, every cut, bytes more and less."""
    places = range(len(data))
    for at in places if len(data) <= MOST_PLACES else dice.sample(places, MOST_PLACES):
        for byte in (data[at] ^ 1, data[at] ^ 0x80, dice.choice((0, 1, 2, 127, 255))):
            yield data[:at] + bytes([byte]) + data[at + 1 :]
        yield data[:at]
        yield data[:at] + data[at + 1 :]
        yield data[:at] + b"\0" + data[at:]
    yield data + b"\0"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_damaged_bodies_have_the_summaries_that_are_compiled(api_key: int) -> None:
    dice = random.Random(api_key)
    for message, version in all_bodies():
        if message.api_key != api_key:
            continue
        summarize, expected = remembering(message, version), summarizer(message, version)
        for most in (1, 2):
            data = encode(message, version, ValueMaker(message, version, 11, most=most).body())
            for padding in (0, 5):
                assert summarize(bytes(padding) + data, padding) == expected(data, 0), (message, version)
            for changed in damaged(data, dice):
                found = summarize(b"pad" + changed, 3)
                assert found == expected(b"pad" + changed, 3), (message, version, changed.hex())
                assert found == summarize(b"pad" + changed, 3)


def produce(topic: str, size: int, acks: int = 1, index: int = 0) -> dict[str, object]:
    partition = {"index": index, "records": bytes(size)}
    topics = [{"name": topic, "partition_data": [partition]}]
    return {"transactional_id": None, "acks": acks, "timeout_ms": 30000, "topic_data": topics}


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_records_of_any_size_have_one_summary(version: int) -> None:
    message = body_message(PRODUCE, version, False)
    summarize, expected = remembering(message, version), summarizer(message, version)
    first = None
    for number, size in enumerate(SIZES):
        data = encode(message, version, produce("orders", size, index=number))
        found = summarize(b"head" + data, 4)
        first = first or found
        assert found is first
        assert found == expected(data, 0)
        for cut in (data[:-1], data + b"\0"):
            assert summarize(cut, 0) == expected(cut, 0)
    other = summarize(encode(message, version, produce("orders", 100, acks=0)), 0)
    assert (other.acks, other.topics) == (0, ("orders",))


@pytest.mark.parametrize("version", [4, 11, 12, 16])
def test_any_one_partition_may_have_the_records(version: int) -> None:
    message = body_message(FETCH, version, True)
    summarize, expected = remembering(message, version), summarizer(message, version)
    maker = ValueMaker(message, version, 3, most=1, unknown_tags=False)
    body = maker.body()
    while not body["responses"] or not body["responses"][0]["partitions"]:
        body = maker.body()
    pattern = body["responses"][0]["partitions"][0]
    found = set()
    for size in (1, 50, 500, 20000):
        for place in range(4):
            records = [bytes(size) if at == place else b"" for at in range(4)]
            parts = [pattern | {"records": given, "high_watermark": size} for given in records]
            body["responses"] = [body["responses"][0] | {"partitions": parts}]
            data = encode(message, version, body)
            summary = summarize(data, 0)
            assert summary == expected(data, 0)
            found.add(id(summary))
    assert len(found) == 4


@pytest.mark.parametrize("version", [4, 12])
def test_no_records_are_not_records_of_a_negative_length(version: int) -> None:
    message = body_message(FETCH, version, True)
    summarize, expected = remembering(message, version), summarizer(message, version)
    maker = ValueMaker(message, version, 3, most=1, unknown_tags=False)
    body = maker.body()
    while not body["responses"] or not body["responses"][0]["partitions"]:
        body = maker.body()
    pattern = body["responses"][0]["partitions"][0] | {"partition_index": 0}
    body["responses"][0]["partitions"] = [pattern | {"records": b"RECORDS"}, pattern | {"records": b""}]
    data = encode(message, version, body)
    assert summarize(data, 0).complete
    before, behind = data.split(b"RECORDS")
    for null in (b"\xff\xff\xff\xff", b"\0"):
        for gone in range(5):
            changed = before[: -len(null)] + null + behind[gone:]
            assert summarize(changed, 0) == expected(changed, 0)


def test_a_summary_is_remembered_whatever_does_not_decide() -> None:
    version = 9
    message = body_message(PRODUCE, version, True)
    summarize = remembering(message, version)

    def answer(error: int, offset: int) -> bytes:
        part = {
            "index": offset, "error_code": error, "base_offset": offset, "log_append_time_ms": -1,
            "log_start_offset": 0, "record_errors": [], "error_message": None,
        }  # fmt: skip
        topics = [{"name": "orders", "partition_responses": [part]}]
        return encode(message, version, {"responses": topics, "throttle_time_ms": offset})

    assert summarize(answer(0, 5), 0) is summarize(b"12345" + answer(0, 77), 5)
    assert summarize(answer(7, 5), 0).errors == (7,)
    assert summarize(answer(7, 9), 0) is summarize(answer(7, 5), 0)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    version = 8
    message = body_message(PRODUCE, version, False)
    made: list[Memory] = []

    class Watched(Memory):
        def __init__(self, *of: Any) -> None:
            super().__init__(*of)
            made.append(self)

    monkeypatch.setattr(remembered, "Memory", Watched)
    summarize = remembering(message, version)
    for number in range(300):
        topic = "t" * (number + 1)
        data = encode(message, version, produce(topic, number))
        assert summarize(data, 0).topics == (topic,)
    (memory,) = made
    forms = [len(forms) for forms in memory.free_forms.values()]
    assert sum(forms) + len(memory.forms) <= MOST_OF_A_KIND
    assert max(forms) <= MOST_FREE_FORMS
    assert len(memory.lengths) <= remembered._LENGTHS


def test_without_room_nothing_more_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "room", 1)
    version = 8
    message = body_message(PRODUCE, version, False)
    summarize = remembering(message, version)
    first, second = (encode(message, version, produce(topic, 9)) for topic in ("a", "bb"))
    assert summarize(first, 0) is summarize(first, 0)
    assert summarize(second, 0) is not summarize(second, 0)
    assert summarize(second, 0).topics == ("bb",)


def test_an_error_code_in_a_tag_is_left_to_the_compiled_summarizer() -> None:
    version = 7
    message = body_message(CREATE_TOPICS, version, True)
    summarize, expected = remembering(message, version), summarizer(message, version)
    for error in (0, 29, 41):
        maker = ValueMaker(message, version, 3, most=1)
        body = maker.body()
        while not body["topics"]:
            body = maker.body()
        body["topics"][0] |= {"error_code": 0, "topic_config_error_code": error}
        data = encode(message, version, body)
        assert summarize(data, 0) == expected(data, 0)
        assert (error in summarize(data, 0).errors) is bool(error)
