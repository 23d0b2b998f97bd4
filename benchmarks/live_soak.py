"""Memory and lateness of `kdissect live` over minutes of connections that open and close.

    python benchmarks/live_soak.py --minutes 10 --connections 500

Fake peers (kafka_peers.py) keep that many connections open over loopback; each asks a few times and closes,
and another one with another client id opens. Memory of `live` is sampled, and how long after the last packet
of a response its line can be read. Needs Linux and root. Nothing is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import kafka_peers

PAGE = os.sysconf("SC_PAGE_SIZE")
SAMPLE_SECONDS = 5
READY_SECONDS = 30
SETTLE_SECONDS = 3
ANSWERED = "exchanges "  # what the peers say at their end


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one client until it goes."""
    try:
        while True:
            size = int.from_bytes(await reader.readexactly(4))
            writer.write(kafka_peers.answer(await reader.readexactly(size)))
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


class Peers:
    """A broker and its clients in one event loop; counts what they did."""

    def __init__(self, port: int, pause: float, until: float) -> None:
        self._port = port
        self._pause = pause
        self._until = until
        self._random = random.Random(1)
        self.connections = self.exchanges = 0

    async def run(self, count: int) -> None:
        """Keep `count` connections open until the end."""
        server = await asyncio.start_server(serve, "127.0.0.1", self._port, backlog=1024)
        await asyncio.gather(*(self._slot() for _ in range(count)))
        server.close()

    async def _slot(self) -> None:
        await asyncio.sleep(self._random.random() * self._pause * 5)
        while time.monotonic() < self._until:
            await self._connection()

    async def _connection(self) -> None:
        """One client: asks 3 to 17 times, with pauses."""
        self.connections += 1
        name = b"soak-%d" % self.connections
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(kafka_peers.request(kafka_peers.API_VERSIONS, 0, 1, client_id=name))
        await self._answer(reader)
        for number in range(2, self._random.randint(3, 17)):
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            writer.write(kafka_peers.produce(number, bytes(self._random.randint(10, 20_000)), name))
            await self._answer(reader)
        writer.close()
        await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader) -> None:
        await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        self.exchanges += 1


class Live:
    """`kdissect live` into a pipe: lines counted, and how late each was, in nanoseconds."""

    def __init__(self, port: int, options: list[str]) -> None:
        self.lines = 0
        self.late: list[int] = []
        self.said = ""
        command = [sys.executable, "-m", "kdissect", "live", "-i", "lo", "-f", f"tcp port {port}"]
        self.process = subprocess.Popen(
            [*command, "--format", "jsonl", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._ready = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()
        if not self._ready.wait(READY_SECONDS) or self.process.poll() is not None:
            raise RuntimeError(f"kdissect live does not capture: {self.said}")

    def memory(self) -> float:
        """Resident memory of the process that analyses, MB."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * PAGE / 1e6

    def end(self) -> None:
        """Interrupt it and wait."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            now = time.time_ns()
            self.lines += 1
            response = json.loads(line)["response"]
            if response:
                self.late.append(now - response["end_time_ns"])

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if "capturing on" in line:
                self._ready.set()
        self._ready.set()


def be_peers(port: int, connections: int, seconds: float, pause: float) -> None:
    """Run the peers and say what they did."""
    peers = Peers(port, pause, time.monotonic() + seconds)
    asyncio.run(peers.run(connections))
    print(f"{ANSWERED}{peers.exchanges} connections {peers.connections}", flush=True)


def sample(live: Live, peers: subprocess.Popen[str], started: float) -> list[tuple[float, float]]:
    """Memory (MB) by time (s) until the peers are through."""
    samples = []
    while peers.poll() is None:
        time.sleep(SAMPLE_SECONDS)
        samples.append((time.monotonic() - started, live.memory()))
    return samples


def report(live: Live, said: str, samples: list[tuple[float, float]], chosen: argparse.Namespace) -> None:
    """Print what was measured."""
    counted = re.search(rf"{ANSWERED}(\d+) connections (\d+)", said)
    exchanges, connections = (int(counted[1]), int(counted[2])) if counted else (0, 0)
    print(
        f"{chosen.minutes:g} minutes, {chosen.connections} connections open at a time, {connections} in all"
    )
    print(f"exchanges of the peers {exchanges}, lines printed {live.lines}; exit {live.process.returncode}")
    print(next((line for line in live.said.splitlines() if "packets captured" in line), live.said.strip()))
    late = sorted(live.late)
    if late:
        at = {
            share: late[min(int(share * len(late)), len(late) - 1)] / 1e6 for share in (0.5, 0.99, 0.999, 1)
        }
        print(
            "wire to line, ms: " + ", ".join(f"p{share * 100:g} {value:.1f}" for share, value in at.items())
        )
    by_minute: dict[int, list[float]] = {}
    for seconds, memory in samples:
        by_minute.setdefault(int(seconds // 60) + 1, []).append(memory)
    means = [f"{minute}: {statistics.mean(found):.1f}" for minute, found in by_minute.items()]
    print(f"resident memory by minute, MB: {', '.join(means)}")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load average {load}")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10)
    add("--connections", type=int, default=500, help="open at a time")
    add("--pause", type=float, default=1.0, help="seconds between two requests of a connection, on average")
    add("--live", metavar="OPTIONS", default="", help="more options of kdissect live, in one word")
    add("--peers", type=int, metavar="PORT", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run peers and `live` side by side, and print."""
    chosen = parse_arguments(arguments)
    if chosen.peers:
        be_peers(chosen.peers, chosen.connections, chosen.minutes * 60, chosen.pause)
        return 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    live = Live(port, chosen.live.split())
    started = time.monotonic()
    command = [sys.executable, __file__, *arguments, "--peers", str(port)]
    peers = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        samples = sample(live, peers, started)
        said, _ = peers.communicate()
        time.sleep(SETTLE_SECONDS)
    finally:
        peers.kill()
        live.end()
    report(live, said, samples, chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
