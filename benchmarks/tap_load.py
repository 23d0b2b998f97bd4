"""What a tap costs the JVM that is tapped, as a Markdown table.

    python benchmarks/tap_load.py --rates 10 100 --seconds 10 --turns 3

One JVM writes records at a rate (MB/s) and reads them back. In turns it runs untapped and tapped, by
`kdissect tap PID -w /dev/null`, each for some seconds after two that are not counted; nor is the first turn,
in which the JVM compiles. Told are MB/s that were written and read, CPU of the JVM by MB moved (written and
read), and the 99th percentile of the time from when a record was due until it was acknowledged, and until it
was read; medians of the turns. Broker, JVM and kdissect share this machine. Needs what the tests of taps need
(`python -m tests.tap.matrix --fetch`). Nothing is judged.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.tap import kafka

SIZE = 1000
SETTLE_SECONDS = 2
VERSION = "4.4.0"
Spell = dict[str, Any]


def main() -> int:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rates", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the start")
    kept = {
        "log.segment.bytes": "50000000",
        "log.retention.bytes": "300000000",
        "log.segment.delete.delay.ms": "500",
    }
    spec = kafka.spec(VERSION)
    spec = replace(spec, properties={**spec.properties, **kept, "log.retention.check.interval.ms": "500"})
    print("| | MB/s | CPU of the JVM | acknowledged, p99 | read, p99 | errors, dropped |")
    print("|---|---|---|---|---|---|")
    with kafka.running(spec, 24800) as cluster:
        for name, where, tls in (
            ("plaintext", cluster.bootstrap, {}),
            ("TLS", kafka.secure(cluster), kafka.tls()),
        ):
            for rate in options.rates:
                measured = spells(where, tls, f"{name.lower()}{rate}", rate, options)
                for how in ("untapped", "tapped"):
                    print(
                        row(
                            f"{name}, {rate} MB/s, {how}", [each for each in measured if each["name"] == how]
                        ),
                        flush=True,
                    )
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    return 0


def spells(
    where: str, tls: dict[str, str], topic: str, rate: int, options: argparse.Namespace
) -> list[Spell]:
    """Return the application in turns, untapped and tapped."""
    words = kafka.line(VERSION, where, "Paced", tls, topic=topic, rate=rate * 1_000_000 // SIZE, size=SIZE)
    words.remove("-XX:TieredStopAtLevel=1")  # compiled as in production
    application = kafka.Client(words, lambda _event: None)
    found: list[Spell] = []
    try:
        application.until("ready", 1)
        for _ in range(1 + options.turns):
            found.append(spell(application, "untapped", options.seconds))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            tapping = kafka.Tapping(application.pid, "-w", "/dev/null")
            found.append(spell(application, "tapped", options.seconds))
            tapping.stop()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found[-1]["kdissect"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            dropped = re.search(r"(\d+) dropped", tapping.said)
            found[-1]["dropped"] = int(dropped[1]) if dropped else 0
    finally:
        application.kill()
    return found[2:]  # in the first turn the JVM compiles


def spell(application: kafka.Client, name: str, seconds: int) -> Spell:
    """Return one turn."""
    before = sum(event.get("event") == "spell" for event in application.events)
    time.sleep(SETTLE_SECONDS)
    application.tell("settled")
    time.sleep(seconds)
    application.tell(name)
    application.until("spell", before + 2)
    return dict(application.events[-1])


def row(name: str, turns: list[Spell]) -> str:
    """Medians."""
    speed = median((turn["written"] + turn["read"]) * SIZE / 2e6 / turn["seconds"] for turn in turns)
    cpu = median(turn["cpu"] * 1e9 / ((turn["written"] + turn["read"]) * SIZE) for turn in turns)
    times = [median(turn[f"{what}_p99"] for turn in turns) for what in ("acknowledged", "read")]
    errors, dropped = (max(turn.get(what, 0) for turn in turns) for what in ("errors", "dropped"))
    cells = f"{speed:.1f}", f"{cpu:.2f} ms/MB", *(f"{each:.1f} ms" for each in times), f"{errors}, {dropped}"
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
