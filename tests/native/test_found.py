"""What is found and how it is paired, compiled and not: broken, foreign and lossy connections."""

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from kdissect.model.packets.packet import Packet
from kdissect.session.exchange import Exchange
from tests.corpus.neighbours import NEIGHBOURS
from tests.support.messages.traffic import BROKER, Conversation, request, response
from tests.support.packets.broken_frames import BODY, HEARTBEAT, OK, every_broken_frame
from tests.support.python_side import PythonSide
from tests.support.run import events_of

PRODUCE = 0
SEEDS = range(12)


def produce(acks: int) -> bytes:
    return struct.pack(">hii", acks, 1000, 1) + b"\0\1t" + struct.pack(">iii", 1, 0, 0)


def one_id_for_all() -> list[Packet]:
    """Return a client that counts nothing and wants some answers; one of them never comes, one is cut."""
    answer = struct.pack(">i", 1) + b"\0\1t" + struct.pack(">iihq", 1, 0, 0, 7)
    talk = Conversation(ports=(41900, 19112)).handshake()
    talk.client(request(HEARTBEAT, 0, 0, BODY)).broker(response(0, OK)).client(
        request(PRODUCE, 0, 0, produce(1))
    )
    for _ in range(4):
        talk.client(request(PRODUCE, 0, 0, produce(0)))
        talk.client(request(HEARTBEAT, 0, 0, BODY)).broker(response(0, OK))
        talk.client(request(PRODUCE, 0, 0, produce(1))).broker(response(0, answer))
    return talk.client(request(HEARTBEAT, 0, 0, BODY)).broker(response(0, OK)[:9]).rst(BROKER).packets


def neighbours() -> list[Packet]:
    packets: list[Packet] = []
    for number, lines in enumerate(NEIGHBOURS.values()):
        talk = Conversation(ports=(42000 + number, 9092), start_ns=1_800_000_000_000_000_000 + number * 10**9)
        for side, data in lines:
            talk._data(side, data, 1460)
        packets += talk.packets
    return packets


def damaged(packets: list[Packet], seed: int) -> list[Packet]:
    """Lose some packets, move some forward, double some and cut some."""
    dice = random.Random(seed)
    kept: list[tuple[float, Packet]] = []
    for place, packet in enumerate(packets):
        what = dice.random()
        if what < 0.05:
            continue
        cut = packet.data[: dice.randint(60, 90)] if 0.05 <= what < 0.1 else packet.data
        kept.append((place + (dice.uniform(0, 5) if what > 0.8 else 0), packet._replace(data=cut)))
        if 0.1 <= what < 0.13:
            kept.append((place + 1.5, packet))
    return [packet for _, packet in sorted(kept, key=lambda item: item[0])]


def told(packets: list[Packet]) -> list[Any]:
    """Return everything that events say."""
    rows: list[Any] = []
    for event in events_of(packets):
        info = event.connection
        rows.append((type(event).__name__, info.id, str(info.kind), info.client_text, dict(info.states)))
        if isinstance(event, Exchange):
            odd = [(str(found.kind), found.detail, found.ref) for found in event.all_anomalies()]
            rows.append(
                (event.ordinal, event.api_key, event.correlation_id, str(event.state), event.close, odd)
            )
        else:
            rows.append([(str(found.kind), found.detail) for found in info.anomalies])
    return rows


@pytest.mark.parametrize(
    "made", [every_broken_frame, one_id_for_all, neighbours], ids=lambda made: made.__name__
)
def test_the_same_is_found(made: Callable[[], list[Packet]], python_side: PythonSide) -> None:
    whole = made()
    for packets in (whole, *(damaged(whole, seed) for seed in SEEDS)):
        here = told(packets)
        assert here
        assert here == python_side.call(told, packets)
