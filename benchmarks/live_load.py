"""Packets that captures drop under load: Apache Kafka and its producer on loopback, as a Markdown table.

    python benchmarks/live_load.py --rates 20 50 100 --seconds 20

At each rate (MB/s of records, which pass the loopback interface once) the producer's performance tool runs
once beside each of: `kdissect live -w FILE`, `kdissect live` with its analysis alone, `dumpcap -w FILE`. All
three get the same filter and kernel buffer. Needs Linux, root, dumpcap, Java 17 and Maven; broker and tool
are those of `captures.record`. Nothing is judged.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from captures.record import jars, java, workshop
from captures.record.broker import Cluster
from captures.record.spec import Spec

KAFKA = "4.4.0"
RECORD_BYTES = 1000
BUFFER_MIB = 64  # of kdissect live unless told otherwise; dumpcap gets the same
TOPIC = "load"
READY_SECONDS, END_SECONDS = 30, 300
PAGE = re.compile(r"([\d.]+) MB/sec\)")  # the last line of ProducerPerformance; its MB is 2**20 bytes


class Measured(NamedTuple):
    """One run: MB/s the producer reached, packets captured and dropped, CPU seconds of who captured."""

    reached: float
    packets: int
    dropped: int
    cpu: float
    note: str = ""


class Captor(NamedTuple):
    """A program that captures: its command line, the line that says it began, what its last words say."""

    name: str
    command: Callable[[int, Path], list[str]]
    ready: str
    counts: Callable[[str], tuple[int, int]]


def live_command(port: int, *more: str) -> list[str]:
    """`kdissect live` on loopback."""
    head = [sys.executable, "-m", "kdissect", "live", "-i", "lo", "--buffer-size", str(BUFFER_MIB)]
    return [*head, "-f", f"tcp port {port}", "--format", "jsonl", *more]


def dumpcap_command(port: int, file: Path) -> list[str]:
    """dumpcap on loopback."""
    head = ["dumpcap", "-q", "-i", "lo", "-B", str(BUFFER_MIB)]
    return [*head, "-f", f"tcp port {port}", "-w", str(file)]


def counts_of_live(said: str) -> tuple[int, int]:
    """Return the numbers of captured and dropped packets in the last lines of `live`."""
    found = re.search(r"(\d+) packets captured .*?, (\d+) dropped", said)
    if found is None:
        raise RuntimeError(f"kdissect live said: {said.strip()}")
    return int(found[1]), int(found[2])


def counts_of_dumpcap(said: str) -> tuple[int, int]:
    """Return the numbers of captured and dropped packets in the last lines of dumpcap."""
    found = re.search(r"Packets received/dropped on interface .*?: (\d+)/(\d+)", said)
    if found is None:
        raise RuntimeError(f"dumpcap said: {said.strip()}")
    return int(found[1]), int(found[2])


CAPTORS = (
    Captor("dumpcap -w", dumpcap_command, "File:", counts_of_dumpcap),
    Captor("live -w", lambda port, file: live_command(port, "-w", str(file)), "capturing on", counts_of_live),
    Captor("live", lambda port, _: live_command(port), "capturing on", counts_of_live),
)


def produce(bootstrap: str, rate: float, seconds: float) -> float:
    """Run the producer's performance tool; the MB/s (10**6) that it reached."""
    per_second = int(rate * 1e6 / RECORD_BYTES)
    program = workshop.program("java", "run the producer's performance tool (JDK 17 or newer)")
    said = workshop.run(
        [
            program, "-Xmx256m", "-XX:+UseSerialGC", "-cp", jars.classpath(f"tools-{KAFKA}"),
            "org.apache.kafka.tools.ProducerPerformance", "--topic", TOPIC,
            "--num-records", str(int(per_second * seconds)), "--record-size", str(RECORD_BYTES),
            "--throughput", str(per_second), "--producer-props", f"bootstrap.servers={bootstrap}",
            "acks=1", "linger.ms=5", "batch.size=131072", "client.id=load",
        ],
        timeout=END_SECONDS,
    )  # fmt: skip
    totals = PAGE.findall(said)
    if not totals:
        raise RuntimeError(f"ProducerPerformance said: {said.strip()}")
    return float(totals[-1]) * (1 << 20) / 1e6


def measure(captor: Captor, cluster: Cluster, rate: float, seconds: float, folder: Path) -> Measured:
    """Return one run of the producer together with one program."""
    port = int(cluster.bootstrap.rpartition(":")[2])
    file, words = folder / "load.pcapng", folder / "words"
    with words.open("w") as said:
        process = subprocess.Popen(captor.command(port, file), stdout=subprocess.DEVNULL, stderr=said)
        try:
            wait_for(words, captor.ready)
            reached = produce(cluster.bootstrap, rate, seconds)
            time.sleep(1)  # what the kernel still holds
            process.send_signal(signal.SIGINT)
        except BaseException:
            process.kill()
            raise
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = words.read_text(errors="replace")
    file.unlink(missing_ok=True)
    behind = re.search(r"analysis was at most ([\d.]+ s) behind", text)
    note = f"at most {behind[1]} behind" if behind else ""
    if process.returncode:
        note = f"exit {process.returncode}; {note}"
    packets, dropped = captor.counts(text)
    # Children that were waited for are in the usage: those of kdissect capture for it.
    return Measured(reached, packets, dropped, usage.ru_utime + usage.ru_stime, note)


def wait_for(words: Path, mark: str) -> None:
    """Wait until a program said that it captures. Raises RuntimeError if it does not."""
    end = time.monotonic() + READY_SECONDS
    while mark not in words.read_text(errors="replace"):
        if time.monotonic() > end:
            raise RuntimeError(f"does not capture: {words.read_text(errors='replace').strip()}")
        time.sleep(0.05)


def row(rate: float, name: str, run: Measured) -> str:
    """Return one line of the table."""
    seen = run.packets + run.dropped
    share = f"{run.dropped / seen:.2%}" if seen else "-"
    return (
        f"| {rate:g} | {run.reached:.0f} | {name} | {run.packets} | {run.dropped} | {share} | {run.cpu:.1f} "
        f"| {run.note} |"
    )


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rates", type=float, nargs="+", default=[20, 50, 100], help="MB/s; default: 20 50 100")
    add("--seconds", type=float, default=20, help="of each run; default: 20")
    add("--port-base", type=int, default=21100, help="first of 100 ports to use; default: 21100")
    add("--folder", type=Path, help="where captures are written; default: the system's temporary folder")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    chosen = parse_arguments(arguments)
    # A day of retention would keep every run of the benchmark.
    spec = Spec(KAFKA, properties={"log.retention.bytes": "1000000000", "log.segment.bytes": "100000000"})
    cluster = Cluster(spec, chosen.port_base, java.extensions())
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        try:
            cluster.start()
            produce(cluster.bootstrap, 10, 5)  # the topic is there, and the broker warm
            print("| MB/s wanted | reached | captured by | packets | dropped | | CPU s | |")
            print("|---:|---:|---|---:|---:|---:|---:|---|")
            for rate in chosen.rates:
                for captor in CAPTORS:
                    print(
                        row(rate, captor.name, measure(captor, cluster, rate, chosen.seconds, Path(name))),
                        flush=True,
                    )
        finally:
            cluster.close()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"\n{chosen.seconds:g} s each, kernel buffer {BUFFER_MIB} MiB; "
        f"{os.cpu_count()} cores, load average {load}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
