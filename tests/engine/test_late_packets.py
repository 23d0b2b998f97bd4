"""Packets that stand later in a capture than they were sent: each is where it belongs, or is reported."""

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from kdissect.capture.files import open_captures
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from tests.native.python_side import PythonSide
from tests.support.console import CAPTURES
from tests.support.run import events_of

# Small ones, whose connections end with a FIN: what stands behind a RST is of no connection any more.
NAMES = (
    "kafka44_franz_transactions.pcapng", "kafka44_java_produce.pcapng", "kafka44_java_groups.pcapng",
    "kafka44_aiokafka_transactions.pcapng", "kafka44_kp3_transactions.pcapng", "tansu_kp3_groups.pcap",
)  # fmt: skip
PACKETS, TIME_NS = 63, 50_000_000


@cache
def packets_of(name: str) -> list[Packet]:
    return list(open_captures([str(CAPTURES / name)]).packets())


class Delay(NamedTuple):
    """How many packets in a thousand stand late, at most so many places and, if not 0, so long."""

    per_mille: int
    places: int
    within_ns: int = 0


def delayed(packets: list[Packet], delay: Delay, seed: int) -> list[Packet]:
    """Some packets stand later; all have their times."""
    chance = random.Random(seed)
    keyed = []
    for at, packet in enumerate(packets):
        place = float(at)
        if chance.randrange(1000) < delay.per_mille:
            last = at + chance.randrange(1, delay.places + 1)
            while last > at and (
                last >= len(packets)
                or (delay.within_ns and packets[last].time_ns - packet.time_ns >= delay.within_ns)
            ):
                last -= 1
            place = last + 0.5 if last > at else place
        keyed.append((place, at, packet))
    return [packet for _, _, packet in sorted(keyed, key=lambda one: one[:2])]


def essence(packets: list[Packet]) -> list[Any]:
    """All of each exchange but what numbers packets; connections are known by their client."""
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
