"""When a reader's sockets return the bytes of a packet: which part of a delay is inside of the client."""

import json
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from struct import iter_unpack
from typing import Any, NamedTuple

from captures.record import workshop

_SOURCE = Path(__file__).with_name("socket_times.c")
_ROW = "<qiiii"


class Reads(NamedTuple):
    """Reads of one connection: how many bytes had been read by then, and when, in nanoseconds since 1970."""

    positions: list[int]
    times: list[int]


class SocketTimes:
    """Times of the reads of one program, whose command `wrapped` changes. `folder` has its files."""

    def __init__(self, folder: Path) -> None:
        self._library = folder / "socket_times.so"
        self._log = folder / "socket_times.log"
        for path in folder.glob(f"{self._log.name}.*"):
            path.unlink()
        compiler = workshop.program("cc", "times of sockets")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(self._library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True)

    def wrapped(self, command: Sequence[str]) -> list[str]:
        """Return a command whose reads are noted."""
        return ["env", f"SOCKET_TIMES={self._log}", f"LD_PRELOAD={self._library}", *command]

    def stages(self, capture: Path, topic: str, got: dict[int, int]) -> tuple[list[int], list[int]]:
        """Return for each record the time from the packet that ends its response to the read, and from there
        to the client's line. `got` has the times of these lines by the number in a record's value.
        """
        reads, ends = self._reads(), _ends(capture)
        responses = {
            (row["connection"], row["exchange"]): (row["client"], row["response"]["end_time_ns"])
            for row in _rows("inspect", str(capture), "--api", "Fetch")
            if row["response"] is not None
        }
        first: dict[int, tuple[int, int]] = {}
        for row in _rows("records", str(capture), "--api", "Fetch", "--topic", topic):
            client, end_ns = responses[row["connection"], row["exchange"]]
            port, number = int(client.rpartition(":")[2]), int(row["value"])
            position, of_port = ends.get((port, end_ns)), reads.get(port)
            if of_port is None or position is None or of_port.positions[-1] < position:
                raise RuntimeError(f"no read has the end of the response with record {number}")
            read_ns = of_port.times[bisect_left(of_port.positions, position)]
            first.setdefault(number, (end_ns, read_ns))
        before = [read_ns - end_ns for end_ns, read_ns in first.values()]
        after = [got[number] - read_ns for number, (_, read_ns) in first.items()]
        return before, after

    def _reads(self) -> dict[int, Reads]:
        """Return the reads by local port."""
        found: dict[int, Reads] = {}
        for path in self._log.parent.glob(f"{self._log.name}.*"):
            ports: dict[int, int] = {}
            for time_ns, descriptor, count, port, _ in iter_unpack(_ROW, path.read_bytes()):
                if port:
                    ports[descriptor] = port
                    found[port] = Reads([], [])
                elif descriptor in ports:
                    reads = found[ports[descriptor]]
                    reads.positions.append((reads.positions or [0])[-1] + count)
                    reads.times.append(time_ns)
        return found


def _rows(*arguments: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "kdissect", *arguments, "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _ends(capture: Path) -> dict[tuple[int, int], int]:
    """Return the position in its stream at which each packet ends, by port of the receiver and time."""
    fields = [
        word for name in ("frame.time_epoch", "tcp.dstport", "tcp.seq", "tcp.len") for word in ("-e", name)
    ]
    command = [
        workshop.program("tshark", "times of sockets"),
        "-r",
        str(capture),
        "-Y",
        "tcp.len>0",
        "-T",
        "fields",
    ]
    done = subprocess.run([*command, *fields], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        time, port, number, length = line.split("\t")
        seconds, _, part = time.partition(".")
        # relative numbers: the first byte has 1
        found[int(port), int(seconds) * 10**9 + int(part.ljust(9, "0"))] = int(number) + int(length) - 1
    return found
