"""What attaching and detaching a tap costs a Java client, second by second, as a Markdown table.

    python benchmarks/tap_attach.py --rate 1000 --turns 5

A JVM writes records of 1,000 bytes at a rate and reads them back. It runs untapped, is tapped for the first
time, runs tapped, loses its tap, and is tapped and untapped again. Each turn starts a JVM that was never
tapped. The benchmark reads the latencies of the JVM once a second: the time from when a record was scheduled
until the broker acknowledged it. A cell of the first row is the highest 99th percentile of a second of its
phase, in milliseconds. A cell of the second row is the number of compiled methods that HotSpot discarded in
the phase: it depends less on the load of the machine. Each is the median of the turns, with the lowest and
the highest turn. Broker, JVM and kdissect share this machine. It needs Java 9 or later, and what the
tests of taps need (`python -m tests.tap.matrix --fetch`). It judges nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.tap import kafka

VERSION = "4.4.0"
SIZE = 1000
PHASES = {
    "before": "before",
    "attach": "first attach",
    "tapped": "tapped",
    "detach": "detach",
    "attach_again": "second attach",
    "tapped_again": "tapped again",
    "detach_again": "second detach",
}
ROWS = [("p99 of the worst second", " ms"), ("methods discarded", "")]
# An attach or a detach is over after this; what follows is the steady state.
EVENT_SECONDS = 5


def main() -> int:
    """Run the turns and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--warm", type=int, default=40, help="seconds before the first phase")
    parser.add_argument("--steady", type=int, default=10, help="seconds of 'before' and 'tapped'")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=["plaintext", "TLS"])
    parser.add_argument("--java", default="", help="the program that runs the client")
    parser.add_argument("--jvm", action="append", default=[], help="a further option of the JVM; repeatable")
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    print(f"| | {' | '.join(PHASES.values())} |\n|---|{'---|' * len(PHASES)}")
    with kafka.running(kafka.spec(VERSION), 25900) as cluster:
        for kind in options.kinds:
            is_tls = kind == "TLS"
            where, properties = (kafka.secure(cluster), kafka.tls()) if is_tls else (cluster.bootstrap, {})
            turns = [
                turn(where, properties, f"{kind.lower()}{number}", options) for number in range(options.turns)
            ]
            for place, (name, unit) in enumerate(ROWS):
                cells = [cell([each[phase][place] for each in turns], unit) for phase in PHASES]
                print(f"| {kind}, {name} | {' | '.join(cells)} |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    return 0


def cell(found: list[float], unit: str) -> str:
    """Return the median, the lowest and the highest."""
    return f"{median(found):.0f}{unit} ({min(found):.0f} to {max(found):.0f})"


def turn(
    where: str, properties: dict[str, str], topic: str, options: argparse.Namespace
) -> dict[str, tuple[float, float]]:
    """Return what each phase was in a JVM of its own: `ROWS`."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "compilation")
        jvm = [*options.jvm, f"-Xlog:jit+compilation=debug:file={log}:none:filecount=0"]
        words = kafka.line(
            VERSION, where, "Paced", properties, topic=topic, rate=options.rate, size=SIZE,
            jvm=jvm, program=options.java,
        )  # fmt: skip
        words.remove("-XX:TieredStopAtLevel=1")  # compiled as in production
        application = kafka.Client(words, lambda _event: None)
        try:
            application.until("ready", 1)
            Phase(application, log, options.warm)
            found = {"before": Phase(application, log, options.steady).row}
            for again in ("", "_again"):
                attach = Phase(application, log)
                tapping = kafka.Tapping(application.pid, "-w", "/dev/null")
                attach.last(EVENT_SECONDS)
                tapped = Phase(application, log, options.steady)
                detach = Phase(application, log)
                tapping.stop()
                detach.last(EVENT_SECONDS)
                found |= {
                    f"attach{again}": attach.row,
                    f"tapped{again}": tapped.row,
                    f"detach{again}": detach.row,
                }
                Phase(application, log, options.steady)
            return found
        finally:
            application.kill()


class Phase:
    """Seconds of an application from now on: `count` of them, or until `last`."""

    def __init__(self, application: kafka.Client, log: Path, count: int = 0) -> None:
        self._application = application
        self._log = log
        self._begins = log.stat().st_size
        self._first = self._spells()
        self._ticking = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self.row = (0.0, 0.0)
        self._ticker.start()
        if count:
            self.last(count)

    def last(self, count: int) -> None:
        """Wait `count` seconds and end the phase: `row` has its `ROWS` then."""
        time.sleep(count)
        self._ticking.set()
        self._ticker.join()
        events = [event for event in self._application.events if event.get("event") == "spell"]
        worst = max(event["acknowledged_p99"] for event in events[self._first + 1 :])
        self.row = worst, self._log.read_bytes()[self._begins :].count(b"made not entrant")

    def _tick(self) -> None:
        """Send a tick each second until the phase ends. The first spell ends what was before the phase."""
        wanted = self._first + 1
        self._application.tell("start")
        while not self._ticking.wait(1):
            self._application.tell("second")
            wanted += 1
        self._application.until("spell", wanted)

    def _spells(self) -> int:
        return sum(event.get("event") == "spell" for event in self._application.events)


if __name__ == "__main__":
    sys.exit(main())
