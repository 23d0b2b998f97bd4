"""Packets that stand later in a capture than they were sent: each is where it belongs, or is reported."""

import random
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import pytest

from kdissect.capture.files import open_captures
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.net.streams.repair import GRACE_NS, GRACE_PACKETS, QUIET_GRACE_NS
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from tests.native import packets as asked
from tests.support.console import CAPTURES
from tests.support.python_side import PythonSide
from tests.support.run import events_of

# Small ones of several clients.
NAMES = (
    "kafka44_franz_transactions.pcapng", "kafka44_java_groups.pcapng", "kafka44_aiokafka_transactions.pcapng",
    "kafka44_kp3_transactions.pcapng", "kafka44_rdkafka_transactions.pcapng", "tansu_kp3_groups.pcap",
)  # fmt: skip
# Just what a hole is waited for at least: so many packets, however long they take up to the time after which
# a quiet connection goes on, and so long, however many packets pass.
FEW = GRACE_PACKETS - 1
QUIET_NS = QUIET_GRACE_NS - 1_000_000
SOON_NS = GRACE_NS - 1_000_000
LATE = 5_000  # beyond both: most of a capture
SYN, RST = 2, 4


@cache
def packets_of(name: str) -> list[Packet]:
    return list(open_captures([str(CAPTURES / name)]).packets())


class Delay(NamedTuple):
    """How many packets in a thousand stand late, at most so many places and, if not 0, so long."""

    per_mille: int
    places: int
    within_ns: int = 0


def delayed(packets: list[Packet], delay: Delay, seed: int) -> list[Packet]:
    """Move some packets back, before a RST of their connection, and keep their times.

    Of an answer that a RST overtook nothing shows that it is to come; of bytes that were sent twice the first
    ones count; and a connection whose SYN is late began in the middle.
    """
    chance = random.Random(seed)
    resets = {ends(packet): at for at, packet in enumerate(packets) if packet.data[47] & RST}
    sent = Counter(place_of(packet) for packet in packets)
    keyed = []
    for at, packet in enumerate(packets):
        place = float(at)
        is_plain = not packet.data[47] & SYN and sent[place_of(packet)] == 1
        if is_plain and chance.randrange(1000) < delay.per_mille:
            last = min(at + chance.randrange(1, delay.places + 1), len(packets) - 1)
            if at < (reset := resets.get(ends(packet), at)):
                last = min(last, reset - 1)
            while delay.within_ns and packets[last].time_ns - packet.time_ns >= delay.within_ns:
                last -= 1
            place = last + 0.5 if last > at else place
        keyed.append((place, at, packet))
    return [packet for _, _, packet in sorted(keyed, key=lambda one: one[:2])]


def place_of(packet: Packet) -> tuple[bytes, bool]:
    """Return addresses, ports and sequence number, and whether there is data; with the timestamps of all of
    them.
    """
    return packet.data[26:42], len(packet.data) > 66


def ends(packet: Packet) -> frozenset[bytes]:
    """Ports of a packet of Ethernet and IPv4 without options, as all of these are."""
    return frozenset((packet.data[34:36], packet.data[36:38]))


def essence(packets: list[Packet]) -> list[Any]:
    """Return all of each exchange but what numbers packets; connections are known by their client."""
    rows = ExchangeRows(["x"], bodies=True)
    said = []
    for event in events_of(packets):
        if not isinstance(event, Exchange):
            continue
        row = rows.row(event)
        row = {
            key: row[key] for key in ("client", "broker", "exchange", "api", "state", "request", "response")
        }
        for side in ("request", "response"):
            if row[side] is not None:
                row[side] = {key: value for key, value in row[side].items() if key != "packets"}
        said.append(row)
    return sorted(said, key=lambda row: (row["client"], row["broker"], row["exchange"]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "delay", [Delay(60, FEW, QUIET_NS), Delay(60, LATE, SOON_NS), Delay(150, 20, QUIET_NS)], ids=str
)
def test_lateness_that_is_waited_for_changes_nothing(name: str, delay: Delay) -> None:
    packets = packets_of(name)
    healthy = essence(packets)
    for seed in range(4):
        late = delayed(packets, delay, seed)
        assert late != packets
        assert essence(late) == healthy
        assert not anomalies(late) & {"gap", "late_segment", "resynchronised", "skipped_bytes"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_later_is_put_back_or_reported(name: str) -> None:
    """Each gap that stays has its late bytes reported, and nothing raises."""
    packets = packets_of(name)
    for seed in range(4):
        late = delayed(packets, Delay(20, LATE), seed)
        for event in events_of(late):
            if isinstance(event, ConnectionClosed):
                counts = event.connection.anomaly_counts
                said = counts["late_segment"] + counts["data_after_close"]
                assert not counts["gap"] or said


def anomalies(packets: list[Packet]) -> set[str]:
    """Return kinds of what was noted of connections."""
    closed = [event.connection for event in events_of(packets) if isinstance(event, ConnectionClosed)]
    return {str(kind) for connection in closed for kind in connection.anomaly_counts}


def spoilt(name: str, seed: int) -> list[PlainPacket]:
    """Return packets that stand late, are lost or doubled, at random."""
    chance = random.Random(seed)
    late = delayed(packets_of(name), Delay(60, chance.choice((3, 20, 100, LATE))), seed)
    kept = [packet for one in late for packet in [one] * chance.choice((1,) * 60 + (0, 2))]
    return [(number, *packet[1:5]) for number, packet in enumerate(kept, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_both_engines_say_the_same(python_side: PythonSide, name: str) -> None:
    for seed in range(4):
        packets = spoilt(name, seed)
        right = python_side.call(asked.told_of_plain, packets)
        assert asked.told_of(packets, [97]) == right
        assert asked.extracted([packets]) == python_side.call(asked.extracted, [packets])
