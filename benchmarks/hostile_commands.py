"""Files that are meant to hurt, and what commands take for them: CPU seconds and memory.

`python benchmarks/hostile_commands.py [LOAD...] [--commands info,check] [--counts 1000,2000]`: writes each
load into a temporary directory and runs commands over it. Figures are in docs/limits.md; nothing asserts
them.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import zstandard

from benchmarks.hostile_load import START_NS, Wire, request, response
from kdissect.model.packets.packet import Packet
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.packets.pcaps import write_pcap

Placed = tuple[int, int, bytes]
"""Time, number of the file, packet."""
# Seconds of CPU after which a command is stopped.
MOST_SECONDS = 120


def _wire(dice: Random, number: int = 0) -> Wire:
    """Return one whose sequence numbers are random, as those of real stacks are."""
    wire = Wire(number)
    wire.seq = [dice.randrange(1 << 17, 1 << 32), dice.randrange(1 << 17, 1 << 32)]
    return wire


def same_file(count: int) -> Iterator[Placed]:
    """One small capture copied so often, under names of their own."""
    wire = _wire(Random(1))
    packets = [*wire.open()]
    for number in range(3):
        packets += [wire.say(0, request(number)), wire.say(1, response(number))]
    for at, packet in enumerate(packets):
        for file in range(count):
            yield START_NS + at * 1000, file, packet


def files_of_one_tap(count: int, seconds: int = 3600, connections: int = 1) -> Iterator[Placed]:
    """Long-lived connections in files that follow each other; some bytes between two of them are in none."""
    dice = Random(2)
    wires = [_wire(dice, number) for number in range(connections)]
    for file in range(count):
        at = START_NS + file * seconds * 1_000_000_000
        for number in range(2):
            for wire in wires:
                yield at, file, wire.say(0, request(number + 5))
                yield at + 1000, file, wire.say(1, response(number + 5))
                at += 2000
        for wire in wires:
            wire.seq = [one + 1000 for one in wire.seq]


def other_connections(count: int) -> Iterator[Placed]:
    """Each file has another connection between the same two ends, all within a minute."""
    dice = Random(3)
    for file in range(count):
        wire = _wire(dice)
        yield START_NS + file * 1_000_000, file, wire.say(0, request(1))
        yield START_NS + file * 1_000_000 + 1000, file, wire.say(1, response(1))


def _frame(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def _asked(key: int, version: int, number: int, body: bytes = b"", client: bytes | None = None) -> bytes:
    name = struct.pack(">h", -1) if client is None else _text(client)
    return _frame(struct.pack(">hhi", key, version, number) + name + body)


def _text(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def _answered(number: int, body: bytes) -> bytes:
    return _frame(struct.pack(">i", number) + body)


_Pair = Callable[[int], tuple[bytes, bytes]]


def _tiny(number: int) -> tuple[bytes, bytes]:
    """ApiVersions, of which nothing is listed."""
    return _asked(18, 0, number), _answered(number, struct.pack(">hi", 0, 0))


def _broken(number: int) -> tuple[bytes, bytes]:
    """Metadata that ends early on both sides."""
    return _asked(3, 1, number, b"\x7f\xff"), _answered(number, b"\0\0\0\1\x7f")


def _client(number: int) -> tuple[bytes, bytes]:
    return _asked(18, 0, number, client=b"client-%d" % number), _tiny(number)[1]


def _topic(number: int) -> tuple[bytes, bytes]:
    topic = _text(b"topic-%d" % number)
    told = struct.pack(">iiih", 0, -1, 1, 0) + topic + b"\0" + struct.pack(">i", 0)
    return _asked(3, 1, number, struct.pack(">i", 1) + topic), _answered(number, told)


def _group(number: int) -> tuple[bytes, bytes]:
    body = _text(b"group-%d" % number) + struct.pack(">i", 1) + _text(b"m")
    return _asked(12, 0, number, body), _answered(number, struct.pack(">h", 0))


def exchanges(pair: _Pair, count: int) -> Iterator[Placed]:
    """So many on one connection, a hundred in each packet."""
    wire, at = _wire(Random(4)), START_NS
    for packet in wire.open():
        yield at, 0, packet
    for first in range(0, count, 100):
        pairs = [pair(number) for number in range(first, min(first + 100, count))]
        for side in (0, 1):
            at += 20_000
            yield at, 0, wire.say(side, b"".join(sides[side] for sides in pairs))


def bombs(count: int) -> Iterator[Placed]:
    """Produce requests, each with a batch of 900 bytes that becomes 1,400,000 records."""
    records = record_bytes() * 1_400_000
    batch = batch_bytes(zstandard.ZstdCompressor(19).compress(records), 1_400_000, attributes=4)
    wire, at = _wire(Random(5)), START_NS
    for packet in wire.open():
        yield at, 0, packet
    for number in range(count):
        body = struct.pack(">hhiih", -1, 1, 1000, 1, 1) + b"t" + struct.pack(">iii", 1, 0, len(batch)) + batch
        at += 20_000
        yield at, 0, wire.say(0, _asked(0, 7, number, body))


ONE_FILE: dict[str, tuple[Callable[[int], Iterator[Placed]], int]] = {
    "tiny exchanges": (partial(exchanges, _tiny), 300_000),
    "broken exchanges": (partial(exchanges, _broken), 300_000),
    "distinct clients": (partial(exchanges, _client), 300_000),
    "distinct topics": (partial(exchanges, _topic), 300_000),
    "distinct groups": (partial(exchanges, _group), 300_000),
    "batches of 1,400,000 records": (bombs, 40),
}
"""By name: packets of one file, and how many of what it has unless told otherwise."""
MANY_FILES: dict[str, Callable[[int], Iterator[Placed]]] = {
    "one file copied": same_file,
    "files of an hour": files_of_one_tap,
    "files of a second": lambda count: files_of_one_tap(count, 1),
    "files of an hour, 50 connections": lambda count: files_of_one_tap(count, 3600, 50),
    "other connections": other_connections,
}
"""By name: packets of so many files, each of which is a capture set of its own."""


class Cost(NamedTuple):
    """What a command took."""

    exit_code: int
    cpu_s: float
    peak_mb: float


def run(words: Sequence[str]) -> Cost:
    """Return a command of kdissect in a process of its own, stopped after `MOST_SECONDS` of CPU."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kdissect", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    _, status, used = os.wait4(process.pid, 0)
    return Cost(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def write_files(directory: Path, packets: Iterable[Placed]) -> None:
    """Each file under a name that belongs to no rotation."""
    files: dict[int, list[Packet]] = {}
    for time_ns, file, data in packets:
        files.setdefault(file, []).append(Packet(0, time_ns, 1, data, len(data)))
    for file, held in files.items():
        write_pcap(directory / f"host{file}-trace.pcap", held)


def main() -> None:
    """Print a line for each load, count and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loads", nargs="*", choices=[[], *MANY_FILES, *ONE_FILE], default=[])
    parser.add_argument("--commands", default="info,check")
    parser.add_argument("--counts")
    options = parser.parse_args()
    for name in options.loads or [*MANY_FILES, *ONE_FILE]:
        load, usual = ONE_FILE[name] if name in ONE_FILE else (MANY_FILES[name], 0)
        counts = options.counts or (str(usual) if usual else "1000,2000,4000,10000")
        for count in map(int, counts.split(",")):
            with tempfile.TemporaryDirectory() as directory:
                write_files(Path(directory), load(count))
                for command in options.commands.split(","):
                    cost = run([*command.split(), directory])
                    stopped = ", stopped" if cost.exit_code < 0 else ""
                    told = f"{cost.cpu_s:.1f} s, {cost.peak_mb:.0f} MB{stopped}"
                    print(f"{name}, {count}: {command}: {told}", flush=True)


if __name__ == "__main__":
    main()
