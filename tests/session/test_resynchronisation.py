"""Lost packets cost what was in them: a guessed frame that was none costs nothing behind it."""

import random
import struct
from functools import cache

import pytest

from kdissect.capture.files import open_captures
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.packets.packet import Packet
from kdissect.session.exchange import Exchange, State
from tests.session.test_framing import BODY, HEARTBEAT, OK
from tests.support.console import CAPTURES
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame, request, response
from tests.support.run import connections_of, exchanges_of

FETCH = 1
HEADERS = 66  # bytes of Ethernet, IPv4 and TCP with timestamps
# Brokers write one answer in several pieces: a segment often begins inside a frame.
NAMES = (
    "kafka40_java_share.pcapng", "kafka44_java_redelivery.pcapng", "kafka44_java_produce.pcapng",
    "kafka44_aiokafka_groups.pcapng", "kafka44_java_groups.pcapng",
)  # fmt: skip
Pairs = dict[tuple[str, int, int | None], tuple[int, bytes]]


@cache
def packets_of(name: str) -> list[Packet]:
    return list(open_captures([str(CAPTURES / name)]).packets())


def pairs_of(packets: list[Packet]) -> Pairs:
    """Return what is complete, by client and request: size and beginning of the answer."""
    return {
        (str(one.connection.client), one.correlation_id or 0, one.api_key): (
            one.response.size, one.response.data[:16],
        )
        for one in exchanges_of(packets)
        if one.state is State.COMPLETE and one.request is not None and one.response is not None
    }  # fmt: skip


def without(packets: list[Packet], lost: set[int]) -> list[Packet]:
    return [packet for at, packet in enumerate(packets) if at not in lost]


def with_data(packets: list[Packet], least: int = HEADERS) -> list[int]:
    return [at for at, packet in enumerate(packets) if len(packet.data) > least]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_lost_packet_costs_no_more_than_an_exchange(name: str) -> None:
    """Of connections with a request at a time."""
    packets = packets_of(name)
    whole = pairs_of(packets)
    wanted = with_data(packets)
    for at in wanted if len(wanted) < 200 else wanted[1::3]:
        found = pairs_of(without(packets, {at}))
        assert len(found) >= len(whole) - 1, at + 1
        assert found.items() <= whole.items(), at + 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [2, 3])
def test_several_lost_packets_cost_no_more_than_an_exchange_each(name: str, count: int) -> None:
    packets = packets_of(name)
    whole = pairs_of(packets)
    chance = random.Random(count)
    for _ in range(25):
        lost = set(chance.sample(with_data(packets), count))
        found = pairs_of(without(packets, lost))
        assert len(found) >= len(whole) - count, sorted(lost)
        assert found.items() <= whole.items(), sorted(lost)


def records_like(kind: str, chance: random.Random, size: int) -> bytes:
    """Return bytes that look like sizes and ids of answers in places."""
    if kind == "random":
        return chance.randbytes(size)
    if kind == "the same":
        return struct.pack(">i", chance.randrange(40)) * (size // 4)
    if kind == "counted":
        return b"".join(struct.pack(">i", number) for number in range(size // 4))
    return b"".join(
        struct.pack(">ii", chance.randrange(100_000), chance.randrange(40)) for _ in range(size // 8)
    )


def fetches(kind: str, version: int, ahead: int, chance: random.Random) -> list[Packet]:
    """Return a consumer that has up to `ahead` open requests, with answers of many segments."""
    talk = Conversation().handshake()
    for first in range(1, 41, ahead):
        numbers = range(first, min(first + ahead, 41))
        for number in numbers:
            talk.client(encode_request(FETCH, version, number, "consumer", {"topics": []}))
        for number in numbers:
            records = records_like(kind, chance, chance.randrange(8, 12_000))
            partition = {"partition_index": 0, "records": records, "high_watermark": 5}
            topic = {"topic": "orders", "partitions": [partition]}
            talk.broker(encode_response(FETCH, version, number, {"responses": [topic]}), 1448)
    return talk.packets


@pytest.mark.parametrize("kind", ["random", "the same", "counted", "sizes and ids"])
@pytest.mark.parametrize("version", [4, 11, 12, 13])
def test_records_are_not_taken_for_answers(kind: str, version: int) -> None:
    chance = random.Random(version)
    for ahead in (1, 3):
        packets = fetches(kind, version, ahead, chance)
        whole = pairs_of(packets)
        assert len(whole) == 40
        for _ in range(12):
            lost = set(chance.sample(with_data(packets, 54), chance.choice((1, 2, 3))))
            found = pairs_of(without(packets, lost))
            assert len(found) >= len(whole) - len(lost) * ahead, sorted(lost)
            assert found.items() <= whole.items(), sorted(lost)


def answered(packets: list[Packet]) -> list[int | None]:
    return [one.correlation_id for one in exchanges_of(packets) if one.state is State.COMPLETE]


def beat(talk: Conversation, number: int) -> None:
    talk.client(request(HEARTBEAT, 0, number, BODY)).broker(response(number, OK))


def test_a_guess_of_many_megabytes_is_given_up() -> None:
    """The guessed frame would end behind all that follows."""
    talk = Conversation().handshake()
    beat(talk, 0)
    talk.client(request(HEARTBEAT, 0, 1, BODY))
    talk.lose(BROKER, response(1, OK + b"lost")[:10])
    talk.broker(struct.pack(">ii", 1 << 27, 1) + b"\0\0")  # the rest of the answer looks like one
    for number in range(2, 12):
        beat(talk, number)
    assert answered(talk.packets) == [0, *range(2, 12)]
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts["resynchronised"] == 2


def test_a_guessed_request_is_given_up() -> None:
    talk = Conversation().handshake()
    beat(talk, 0)
    talk.lose(CLIENT, b"\0\0\0\x63").client(struct.pack(">ihhih", 1 << 27, 3, 0, 7, 3) + b"abc" + bytes(86))
    for number in range(2, 12):
        beat(talk, number)
    assert answered(talk.packets) == [0, *range(2, 12)]


def test_a_frame_whose_start_is_known_is_never_given_up() -> None:
    """Its content may look like an answer to a request that waits."""
    inner = frame(struct.pack(">i", 2) + OK)
    whole = response(1, OK + bytes(1450 - 2) + inner * 3 + bytes(100))
    talk = Conversation().handshake().client(request(HEARTBEAT, 0, 1, BODY) + request(HEARTBEAT, 0, 2, BODY))
    talk.broker(whole[:1458]).broker(whole[1458:]).broker(response(2, OK))
    found: list[Exchange] = sorted(exchanges_of(talk.packets), key=lambda one: one.ordinal)
    assert [one.response and one.response.size for one in found] == [len(whole) - 4, 6]


def test_an_answer_that_nobody_asked_for_is_no_place_to_go_on() -> None:
    """All requests are there: an id under which none waits is none of an answer."""
    talk = Conversation().handshake()
    beat(talk, 5)
    talk.client(request(HEARTBEAT, 0, 6, BODY)).lose(BROKER, response(6, OK)[:5])
    talk.broker(struct.pack(">ii", 4096, 3) + bytes(32))
    for number in range(7, 10):
        beat(talk, number)
    assert answered(talk.packets) == [5, 7, 8, 9]
    assert not [one for one in exchanges_of(talk.packets) if one.state is State.ORPHAN_RESPONSE]


def test_frames_without_a_request_earn_no_trust() -> None:
    """Requests are missing too: an answer may be to one of those. Junk that looks like two proves nothing."""
    talk = Conversation().handshake()
    beat(talk, 5)
    talk.lose(CLIENT, request(HEARTBEAT, 0, 6, BODY)).lose(BROKER, response(6, OK)[:5])
    talk.client(request(HEARTBEAT, 0, 7, BODY))
    junk = struct.pack(">ii", 6, 3) + OK
    talk.broker(junk + junk + struct.pack(">ii", 1 << 27, 4))
    for number in range(8, 12):
        beat(talk, number)
    assert answered(talk.packets) == [5, 8, 9, 10, 11]


def test_zeros_before_an_answer_are_no_better_than_the_answer() -> None:
    """Requests are missing too, and an id may be any: what ends a lost answer looks like the start of one."""
    talk = Conversation().handshake()
    beat(talk, 5)
    talk.lose(CLIENT, request(HEARTBEAT, 0, 6, BODY)).lose(BROKER, response(6, OK)[:5])
    for number in range(7, 12):
        talk.client(request(HEARTBEAT, 0, number, BODY))
        talk.broker(struct.pack(">ii", 4, 0)[:7]).broker(response(number, OK))
        talk.lose(BROKER, bytes(5))
    assert answered(talk.packets) == [5, *range(7, 12)]


def test_a_cut_answer_to_a_missing_request_must_look_like_one() -> None:
    """Where the position is a guess, an id in the usual range and any size are no answer."""
    talk = Conversation().handshake()
    beat(talk, 5)
    talk.lose(CLIENT, request(HEARTBEAT, 0, 6, BODY)).lose(BROKER, response(6, OK)[:5])
    talk.client(request(HEARTBEAT, 0, 7, BODY)).broker(struct.pack(">ii", 260, 0) + b"\xff" * 80)
    assert [one.state for one in exchanges_of(talk.packets)] == [State.COMPLETE, State.UNANSWERED]
