"""How time and memory grow with the size of a capture, and with the number of connections, as tables.

    python benchmarks/growth.py --sizes 10MB 100MB 500MB --folder growth
    python benchmarks/growth.py --sizes 10MB 100MB 500MB --folder growth --count instructions --rounds 1
    python benchmarks/growth.py --connections 10 100 1000 10000 --works list deep

Each rate is that of what a capture has beyond the one before it, so that start-up, and decoders that are made
at the first message of a kind, count in the first row alone. Sizes are captures of `generate.py` with
segments of an MTU on ten connections, so that a MB holds as many exchanges in a small one as in a large;
connections are copies of ten with other client ports (`multiply.py`), packet by packet in turns: each has
the same traffic however many there are. Rounds go over all captures in turns; the least counts. Each is
read once before it is measured: what the machine takes to fetch it from its disk is not the program's, and
counts for large files alone. Seconds of one run tell little where rates differ by tenths; instructions, which
Valgrind counts, are the same whatever else the machine does. Nothing is judged.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from compare import TASKS, command_of
from measure import MB, Side, fetch, in_scratch
from shapes import GENERATED_PORT, ROOT, Capture
from traffic.options import parse_size

GENERATE, MULTIPLY = (Path(__file__).parent / name for name in ("generate.py", "multiply.py"))
# Of the capture whose connections are copied: it has ten of them.
TEMPLATE = ("--size", "60k", "--profile", "small", "--connections", "10", "--versions", "old")
TEMPLATE_CONNECTIONS = 10
SECONDS, INSTRUCTIONS = "seconds", "instructions"
# Of each way to count: the head of its column, what a rate is told in, and how many of those a unit has.
UNITS = {
    SECONDS: ("CPU s", ("ms a MB", 1e3 * MB), ("us a connection", 1e6)),
    INSTRUCTIONS: ("M instructions", ("M a MB", MB), ("k a connection", 1e3)),
}
_COLLECTED = re.compile(rb"Collected\s*:\s*(\d+)")  # the last line of callgrind, in instructions


class Point(NamedTuple):
    """One capture: its name in the table, and what of it grows."""

    name: str
    path: Path
    amount: float


def main(arguments: list[str]) -> int:
    """Measure and print; the exit code."""
    chosen = parse_arguments(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        _head, a_size, a_connection = UNITS[chosen.count]
        if chosen.sizes:
            _tell(chosen, [_sized(folder, size) for size in sorted(chosen.sizes)], *a_size)
        if chosen.connections:
            _tell(chosen, [_copied(folder, count) for count in sorted(chosen.connections)], *a_connection)
    return 0


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("--sizes", type=parse_size, nargs="+", default=[], metavar="SIZE")
    add("--connections", type=int, nargs="+", default=[], metavar="N", help="multiples of 10")
    add("--works", nargs="+", default=["list"], choices=list(TASKS))
    add("--rounds", type=int, default=3)
    add("--count", choices=list(UNITS), default=SECONDS, help="instructions need valgrind")
    add("--folder", type=Path, help="where captures are kept and found again; default: a temporary one")
    chosen = parser.parse_args(arguments)
    if not chosen.sizes and not chosen.connections:
        parser.error("give --sizes, --connections, or both")
    if any(count < 1 or count % TEMPLATE_CONNECTIONS for count in chosen.connections):
        parser.error(f"--connections are multiples of {TEMPLATE_CONNECTIONS}")
    if chosen.count == INSTRUCTIONS and shutil.which("valgrind") is None:
        parser.error("--count instructions needs valgrind, which is not installed")
    return chosen


def _tell(chosen: argparse.Namespace, points: list[Point], unit: str, scale: float) -> None:
    head = UNITS[chosen.count][0]
    print(f"| work | capture | MB | {head} | {unit} | of the first | peak MB | of the first |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for work in chosen.works:
        taken = [float("inf")] * len(points)
        peak = [0.0] * len(points)
        for _ in range(chosen.rounds):
            for index, point in enumerate(points):
                used, peak[index] = _run(work, point.path, chosen.count)
                taken[index] = min(taken[index], used)
        first = 0.0
        for index, point in enumerate(points):
            size = point.path.stat().st_size / MB
            rates = " | "
            if index:
                before = points[index - 1]
                rate = (taken[index] - taken[index - 1]) / (point.amount - before.amount) * scale
                first = first or rate
                rates = f"{rate:.2f} | {rate / first:.2f}"
            memory = f"{peak[index]:.0f} | {peak[index] / peak[0]:.2f}" if peak[0] else " | "
            print(
                f"| {work} | {point.name} | {size:.1f} | {taken[index]:.2f} | {rates} | {memory} |",
                flush=True,
            )


def _run(work: str, path: Path, count: str) -> tuple[float, float]:
    """CPU seconds or millions of instructions, and peak MB, of one run."""
    capture = Capture(path.absolute(), [GENERATED_PORT], [], 0, 0)
    command = (sys.executable, "-m", *command_of(TASKS[work].work, capture))
    if count == INSTRUCTIONS:
        return _instructions(command) / 1e6, 0.0
    fetch(path)
    run = in_scratch(Side(command, ROOT))
    if run.status:
        raise SystemExit(f"{shlex.join(command)}: exit code {run.status}")
    return run.cpu, run.rss / MB


def _instructions(command: tuple[str, ...]) -> int:
    """Return what a process takes, start-up included; not what the first one takes to compile Python's
    modules.
    """
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(counted, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"{shlex.join(counted)}: exit code {done.returncode}")
    return int(found[1])


def _generated(path: Path, *options: str) -> Path:
    if not path.exists():
        part = path.with_suffix(".part")
        subprocess.run([sys.executable, str(GENERATE), *options, "-o", str(part)], check=True)
        part.rename(path)
    return path


def _sized(folder: Path, size: int) -> Point:
    path = folder / f"size_{size}.pcap"
    options = ("--profile", "mtu", "--connections", "10", "--codec", "none", "--versions", "old")
    _generated(path, "--size", str(size), *options)
    return Point(f"{size / MB:g} MB", path, path.stat().st_size)


def _copied(folder: Path, count: int) -> Point:
    template = _generated(folder / "connections.pcap", *TEMPLATE)
    path = folder / f"connections_{count}.pcap"
    if not path.exists():
        part = path.with_suffix(".part")
        copies = str(count // TEMPLATE_CONNECTIONS)
        command = [str(MULTIPLY), str(template), "--copies", copies, "--side-by-side", "-o", str(part)]
        subprocess.run([sys.executable, *command], check=True, stderr=subprocess.DEVNULL)
        part.rename(path)
    return Point(f"{count} connections", path, count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
