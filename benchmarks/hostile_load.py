"""Load that is meant to hurt: how long it takes, how much memory, what is told.

`python benchmarks/hostile_load.py [NAME...]`: each in a process of its own; packets are made one by one and
never stand in memory together. Figures are in docs/limits.md; nothing asserts them.
"""

import argparse
import gc
import json
import resource
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))

from kdissect.cli import COLLECT_EVERY
from kdissect.engine.analyzer import Analyzer
from kdissect.model.packets.packet import PlainPacket
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange

ACK, PSH, SYN, FIN = 16, 8, 2, 1
START_NS = 1_700_000_000_000_000_000
_REQUEST = struct.pack(">ihhih", 18, 3, 1, 0, 4) + b"test" + b"\xff\xff\xff\xff"


def request(number: int) -> bytes:
    """Return a Metadata request of all topics."""
    return _REQUEST[:8] + struct.pack(">i", number) + _REQUEST[12:]


def response(number: int) -> bytes:
    """Return an answer of no brokers and no topics."""
    return struct.pack(">iiiii", 16, number, 0, 0, 0)


class Wire:
    """One connection: `say` gives a packet, sequence numbers counted on."""

    __slots__ = ("ends", "ident", "seq")

    def __init__(self, number: int) -> None:
        self.ends = (struct.pack(">I", 0x0A000000 + number), b"\xc0\xa8\0\1")
        self.seq = [1000, 5000]
        self.ident = 0

    def say(self, side: int, data: bytes, flags: int = PSH | ACK) -> bytes:
        """Return the packet."""
        self.ident = self.ident + 1 & 0xFFFF
        ports = (40000, 9092) if not side else (9092, 40000)
        tcp = struct.pack(
            ">HHIIHHI",
            *ports,
            self.seq[side] & 0xFFFFFFFF,
            self.seq[1 - side] & 0xFFFFFFFF if flags & ACK else 0,
            5 << 12 | flags,
            65535,
            0,
        )
        head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(data), self.ident, 0, 64, 6, 0)
        self.seq[side] += len(data) + bool(flags & (SYN | FIN))
        return b"\x02" * 12 + b"\x08\0" + head + self.ends[side] + self.ends[1 - side] + tcp + data

    def open(self) -> Iterator[bytes]:
        """Yield the handshake."""
        yield self.say(0, b"", SYN)
        yield self.say(1, b"", SYN | ACK)
        yield self.say(0, b"", ACK)


def connections(count: int = 100_000) -> Iterator[bytes]:
    """So many connections, all open at the end, each with two exchanges."""
    wires = [Wire(number) for number in range(count)]
    for wire in wires:
        yield from wire.open()
    for number in (1, 2):
        for wire in wires:
            yield wire.say(0, request(number))
            yield wire.say(1, response(number))


def in_flight(count: int = 1_000_000) -> Iterator[bytes]:
    """So many requests on a hundred connections, none of which is ever answered."""
    wires = [Wire(number) for number in range(100)]
    for wire in wires:
        yield from wire.open()
    each = 50
    for number in range(0, count // len(wires), each):
        for wire in wires:
            yield wire.say(0, b"".join(request(number + n) for n in range(each)))


def in_flight_of_one(count: int = 1_000_000) -> Iterator[bytes]:
    """Yield the same on one connection."""
    wire = Wire(1)
    yield from wire.open()
    for number in range(0, count, 50):
        yield wire.say(0, b"".join(request(number + n) for n in range(50)))


def wraps() -> Iterator[bytes]:
    """Yield one connection through its sequence space five times, by gaps of 256 MB; an exchange between two
    of them.
    """
    wire = Wire(1)
    yield from wire.open()
    for number in range(5 * 16):
        for side in (0, 1):
            wire.seq[side] += 1 << 28
        yield wire.say(1, b"", ACK)
        yield wire.say(0, b"", ACK)
        for more in range(8):
            yield wire.say(0, request(number * 8 + more))
            yield wire.say(1, response(number * 8 + more))


def _steady(count: int, size: int = 0) -> Iterator[bytes]:
    wires = [Wire(number) for number in range(50)]
    for wire in wires:
        yield from wire.open()
    for number in range(count):
        for wire in wires:
            yield wire.say(0, request(number))
            yield wire.say(1, response(number))


def half_lost(count: int = 2000) -> Iterator[bytes]:
    """Every second packet is missing, by chance."""
    dice = Random(5)
    return (packet for packet in _steady(count) if dice.random() < 0.5)


def twice_and_reordered(count: int = 1000) -> Iterator[bytes]:
    """Yield every packet twice, and all of them moved by up to 40 places."""
    dice = Random(6)
    waiting: list[tuple[float, int, bytes]] = []
    place = 0
    for packet in _steady(count):
        for _ in "ab":
            place += 1
            waiting.append((place + dice.random() * 40, place, packet))
        if len(waiting) > 400:
            waiting.sort()
            yield from (packet for _, _, packet in waiting[:300])
            del waiting[:300]
    yield from (packet for _, _, packet in sorted(waiting))


def syn_flood(count: int = 1_000_000) -> Iterator[bytes]:
    """Yield SYNs from so many addresses, nothing else."""
    for number in range(count):
        yield Wire(number).say(0, b"", SYN)


LOADS = {
    "100,000 connections": connections,
    "1,000,000 requests in flight on 100 connections": in_flight,
    "1,000,000 requests in flight on one connection": in_flight_of_one,
    "sequence space five times round": wraps,
    "50% loss": half_lost,
    "every packet twice, reordered": twice_and_reordered,
    "1,000,000 SYNs": syn_flood,
}


def measure(name: str) -> dict[str, object]:
    """Run a load; figures of this process."""
    gc.set_threshold(COLLECT_EVERY)
    analyzer = Analyzer()
    states: Counter[str] = Counter()
    anomalies: Counter[str] = Counter()
    number = size = connections_seen = 0
    batch: list[PlainPacket] = []
    took = 0.0

    def feed() -> None:
        nonlocal took, connections_seen
        begin = time.process_time()
        events = analyzer.feed_batch(batch) if batch else analyzer.close()
        for event in events:
            if isinstance(event, Exchange):
                states[str(event.state)] += 1
                anomalies.update(str(anomaly.kind) for anomaly in event.all_anomalies())
            elif isinstance(event, ConnectionClosed):
                connections_seen += 1
                anomalies.update({str(kind): n for kind, n in event.connection.anomaly_counts.items()})
        took += time.process_time() - begin
        batch.clear()

    for data in LOADS[name]():
        number += 1
        size += len(data)
        batch.append((number, START_NS + number * 20_000, 1, data, len(data)))
        if len(batch) == 500:
            feed()
    if batch:
        feed()
    feed()
    anomalies.update({str(kind): n for kind, n in analyzer.anomaly_counts.items()})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "load": name,
        "packets": number,
        "mb": round(size / 1e6, 1),
        "cpu_s": round(took, 1),
        "us_a_packet": round(took / number * 1e6, 1),
        "peak_mb": round(peak),
        "connections": connections_seen,
        "exchanges": dict(states),
        "anomalies": dict(anomalies.most_common(6)),
    }


def main() -> None:
    """Each load in a process of its own, so that its peak of memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *LOADS], default=[])
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    print("limits are the defaults: kdissect limits")
    for name in options.names or LOADS:
        subprocess.run([sys.executable, __file__, "--one", name], check=True)


if __name__ == "__main__":
    main()
