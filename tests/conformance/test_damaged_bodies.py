"""Bodies that are cut, random or hostile give DecodeError and nothing else, from both decoders alike."""

import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from kdissect.decoders.cursor import encode_uvarint
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.summary import summarizer
from kdissect.decoders.trees.tree_decoder import dissect, locate
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message
from tests.conformance.random_values import ValueMaker, all_bodies

API_KEYS = sorted(protocol_messages.api_keys())
HOSTILE = (b"\xff\xff\xff\xff\x07", b"\x7f", b"\x00\x00\x00\x60")  # as varints, as integers, as small lengths
CUTS = 16  # of the older versions only so many cut points are tried
RANDOM_SIZE = 120
# A struct of the smallest size, one byte of tag count, takes some 100 bytes as an object or dict.
BYTES_PER_BYTE = 200
SLACK = 60_000  # caches filled on the way
TRIES = 3  # tracemalloc also counts the threads that another test left behind


def versions_of(api_key: int) -> list[tuple[Message, int]]:
    return [body for body in all_bodies() if body[0].api_key == api_key]


def decode_and_summarize(message: Message, version: int, data: bytes) -> None:
    with suppress(DecodeError):
        decoder(message, version)(data, 0)
    summarizer(message, version)(data, 0)


def peak_of(run: Callable[[], object]) -> int:
    """Return the bytes that `run` takes at most, at the try of the least."""
    peaks = []
    for _ in range(TRIES):
        tracemalloc.start()
        try:
            run()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return min(peaks)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_every_cut_is_an_error_with_a_place(api_key: int) -> None:
    for message, version in versions_of(api_key):
        data = encode(message, version, ValueMaker(message, version, 7, most=1).body())
        whole = summarizer(message, version)(data, 0)
        cuts = list(range(len(data)))
        if version != message.versions.last and len(cuts) > CUTS:
            cuts = random.Random(version).sample(cuts, CUTS)
        for cut in cuts:
            with pytest.raises(DecodeError) as caught:
                decoder(message, version)(data[:cut], 0)
            assert caught.value.path.startswith(message.name)
            assert 0 <= caught.value.offset <= cut
            assert "do not fit (" not in caught.value.why, "the tree decoder took what compiled refused"
            summary = summarizer(message, version)(data[:cut], 0)
            assert not summary.complete
            assert whole.topics[: len(summary.topics)] == summary.topics
            assert whole.errors[: len(summary.errors)] == summary.errors
            assert whole.topic_ids[: len(summary.topic_ids)] == summary.topic_ids


@pytest.mark.parametrize("api_key", API_KEYS)
def test_random_bytes_raise_only_decode_errors_and_both_decoders_agree(api_key: int) -> None:
    dice = random.Random(api_key)
    for message, version in versions_of(api_key):
        for _ in range(3):
            # Small numbers make plausible counts and lengths, other bytes hostile ones.
            data = bytes(
                dice.choice((0, 0, 0, 1, 2, 3, 255, dice.randrange(256))) for _ in range(RANDOM_SIZE)
            )
            tree = dissect(message, version, data)
            try:
                value, end = decoder(message, version)(data, 0)
            except DecodeError as error:
                assert tree.error is not None, (message, version, data.hex(), error)
                assert str(tree.error) == str(error)
            else:
                assert tree.error is None, (message, version, data.hex(), tree.error)
                assert (tree.value, tree.end) == (value, end)
            summarizer(message, version)(data, 0)


@pytest.mark.parametrize("api_key", API_KEYS)
def test_hostile_counts_allocate_nothing_beyond_the_bytes_there_are(api_key: int) -> None:
    size = 400
    for message, version in versions_of(api_key):
        data = (HOSTILE[version % len(HOSTILE)] * size)[:size]
        decode_and_summarize(message, version, data)  # compiles what these bytes need
        peak = peak_of(partial(decode_and_summarize, message, version, data))
        assert peak < size * BYTES_PER_BYTE + SLACK, (message, version)


def test_a_hostile_count_of_uuids_makes_no_list_of_them() -> None:
    message = protocol_messages.request_message(62)  # BrokerRegistration: log_dirs is an array of uuids
    assert message
    good = encode(message, 2, {"log_dirs": []})
    assert good.endswith(b"\x01\x00"), "an empty array and a tag section"
    data = good[:-2] + encode_uvarint(1 << 22) + b"\x00"
    decode_and_summarize(message, 2, data)
    assert peak_of(lambda: decode_and_summarize(message, 2, data)) < SLACK


def test_finding_the_place_of_an_error_takes_no_tree() -> None:
    message = protocol_messages.response_message(3)
    assert message
    topic = {"name": "t", "partitions": [{"replica_nodes": [1, 2, 3]}] * 5}
    data = encode(message, 9, {"topics": [topic] * 200})[:-1]
    decode_and_summarize(message, 9, data)
    assert locate(message, 9, data) is not None
    assert peak_of(lambda: locate(message, 9, data)) < SLACK


def test_a_frame_of_nothing_but_tags_takes_linear_time_and_space() -> None:
    message = protocol_messages.request_message(3)
    assert message
    tags = range(1 << 14, (1 << 14) + 20_000)  # each a varint of three bytes
    data = bytes(3) + encode_uvarint(len(tags)) + b"".join(encode_uvarint(tag) + b"\0" for tag in tags)
    value, end = decoder(message, 12)(data, 0)
    assert end == len(data)
    assert list(value._tags) == list(tags)
