"""Files that are meant to hurt, and what commands take for them: CPU seconds and memory.

`python benchmarks/hostile_commands.py [LOAD...] [--commands info,check] [--counts 1000,2000]`: writes each
load into a temporary directory and runs commands over it. Figures are in docs/limits.md; nothing asserts
them.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.hostile_load import START_NS, Wire, request, response
from kdissect.model.packet import Packet
from tests.support.pcaps import write_pcap

Placed = tuple[int, int, bytes]
"""Time, number of the file, packet."""
# Seconds of CPU after which a command is stopped.
MOST_SECONDS = 120


def _wire(dice: Random, number: int = 0) -> Wire:
    """One whose sequence numbers are random, as those of real stacks are."""
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
    """A command of kdissect in a process of its own, stopped after `MOST_SECONDS` of CPU."""
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
    """Prints a line for each load, count and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loads", nargs="*", choices=[[], *MANY_FILES], default=[])
    parser.add_argument("--commands", default="info,check")
    parser.add_argument("--counts", default="1000,2000,4000,10000")
    options = parser.parse_args()
    for name in options.loads or MANY_FILES:
        for count in map(int, options.counts.split(",")):
            with tempfile.TemporaryDirectory() as directory:
                write_files(Path(directory), MANY_FILES[name](count))
                for command in options.commands.split(","):
                    cost = run([*command.split(), directory])
                    print(
                        f"{name}, {count}: {command}: {cost.cpu_s:.1f} s, {cost.peak_mb:.0f} MB", flush=True
                    )


if __name__ == "__main__":
    main()
