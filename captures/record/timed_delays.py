"""Compare `kdissect delay` with clients' own times: `python -m captures.record.timed_delays [CASE...]`.

Writers print when they call their client for each record, and readers when it returns each record. Both read
the clock of one machine, as the capture does. Needs what recordings need (README.md).
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.drivers import Driver, Running
from captures.record.java import extensions, java
from captures.record.pythons import librdkafka
from captures.record.sniffer import Sniffer, stored
from captures.record.socket_times import SocketTimes
from captures.record.spec import Spec

_SHARES = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
_PART, _LEAST_NS = 0.02, 1_000_000  # by which a number may differ: this part, or this time
_WAIT_SECONDS = 180
_MS = 1_000_000


class Case(NamedTuple):
    """A writer and a reader with options, and properties of the Java client.

    `until` is what ends the delay of a record: `got` when the client returned it, `passed` when the
    application commits it. With `aborts` each transaction whose number it divides is aborted.
    """

    driver: Driver
    write: dict[str, str]
    read: dict[str, str]
    write_set: dict[str, str] = {}  # noqa: RUF012  never changed
    read_set: dict[str, str] = {}  # noqa: RUF012  the same
    until: str = "got"
    aborts: int = 0


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    client, other = java(), librdkafka()
    many, few = {"count": "600", "every": "5"}, {"count": "60", "every": "100"}
    many |= {"warm": "400"}  # a client that just began to run is slower
    few |= {"warm": "40"}
    at_once, committed = {"linger.ms": "0"}, {"isolation.level": "read_committed"}
    slow = {"work": "150", "commit": "true"}
    return {
        "java": Case(client, many, {}, at_once),
        "java-linger": Case(client, many, {}, {"linger.ms": "200"}),
        "java-gzip": Case(client, many, {}, {"linger.ms": "80", "compression.type": "gzip"}),
        "java-slow": Case(client, few, slow, at_once, {"max.poll.records": "1"}, "passed"),
        "java-paused": Case(client, many, {"pause": "1200"}, at_once),
        "java-transactions": Case(
            client, many | {"transaction": "20", "hold": "300"}, {}, at_once, committed
        ),
        "java-aborted": Case(
            client,
            many | {"transaction": "20", "hold": "100", "abort": "4"},
            {},
            at_once,
            committed,
            aborts=4,
        ),
        "java-acks-1": Case(client, many, {}, at_once | {"acks": "1", "enable.idempotence": "false"}),
        "librdkafka": Case(other, many | {"linger": "0"}, {}),
        "librdkafka-linger": Case(other, many | {"linger": "150"}, {"isolation": "committed"}),
        "librdkafka-slow": Case(
            other, few | {"linger": "0"}, {"work": "130", "commit": "yes"}, until="passed"
        ),
    }


def _command(case: Case, cluster: Cluster, is_reader: bool, name: str) -> list[str]:
    actions = ("TimedWrite", "TimedRead") if "Java" in case.driver.name else ("timed_write", "timed_read")
    options = {"client-id": f"{name}-{'reader' if is_reader else 'writer'}", "topic": name}
    options |= case.read | {"group": f"{name}-group"} if is_reader else case.write
    properties = case.read_set if is_reader else case.write_set
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    words += [word for key, value in properties.items() for word in ("--set", f"{key}={value}")]
    return [*case.driver.command, cluster.bootstrap, actions[is_reader], *words]


def record(
    cluster: Cluster, folder: Path, name: str, case: Case, sockets: SocketTimes | None
) -> tuple[Path, dict[int, int], dict[int, int]]:
    """Run a case and return its capture, and by number when each record was written and read."""
    target = folder / f"{name}.pcapng"
    sniffer = Sniffer(cluster.ports("clients"), folder / "raw.pcapng")
    sniffer.start()
    command = _command(case, cluster, True, name)
    reader = Running(command if sockets is None else sockets.wrapped(command), lambda _event: None)
    writer = None
    try:
        reader.until("ready", seconds=_WAIT_SECONDS)
        time.sleep(2)  # the first fetch waits at the broker
        writer = Running(_command(case, cluster, False, name), lambda _event: None)
        written = {
            event["number"]: event["at_ns"]
            for event in writer.wait(_WAIT_SECONDS)
            if event["event"] == "wrote"
        }
        wanted = len(written) - (len(written) // case.aborts if case.aborts else 0)
        end = time.monotonic() + _WAIT_SECONDS
        while len(_times(reader, case.until)) < wanted and time.monotonic() < end:
            time.sleep(0.2)
        time.sleep(1)
        found = _times(reader, case.until)
        reader.stop()
    finally:
        for running in (reader, writer):
            if running is not None:
                running.kill()
        sniffer.stop(target)
    captured = stored(target)
    return captured, written, found


def _times(reader: Running, kind: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for event in list(reader.events):
        if event["event"] == kind:
            for number in event["numbers"]:
                found.setdefault(number, event["at_ns"])
    return found


def measured(capture: Path, topic: str) -> dict[str, Any]:
    """Return what `kdissect delay` says about the readers of a topic."""
    command = [sys.executable, "-m", "kdissect", "delay", str(capture), "--by", "group", "--topic", topic,
               "--format", "json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (row,) = json.loads(done.stdout)["delays"]
    found: dict[str, Any] = row
    return found


def check(cluster: Cluster, folder: Path, name: str, case: Case, with_sockets: bool) -> bool:
    """Run a case, and print both sides; whether they agree."""
    sockets = SocketTimes(folder) if with_sockets else None
    capture, written, read = record(cluster, folder, name, case, sockets)
    own = sorted(at_ns - written[number] for number, at_ns in read.items())
    row = measured(capture, name)
    sketch = row["age_ns" if case.until == "got" else "committed_ns"] or {}
    print(f"{name}: {len(own)} records, of {row['records']} in the capture", flush=True)
    good = len(own) > 0 and sketch.get("count") == len(own)
    for part, share in _SHARES:
        expected, found = _at(own, share), sketch.get(part, 0)
        error = found - expected
        fits = abs(error) <= max(_LEAST_NS, _PART * expected)
        good = good and fits
        print(
            f"  {part}: own {expected / _MS:.2f} ms, kdissect {found / _MS:.2f} ms, "
            f"error {error / _MS:+.2f} ms ({100 * error / expected:+.1f} %){'' if fits else '  TOO MUCH'}",
            flush=True,
        )
    stages = ", ".join(
        f"{stage} {row[f'{stage}_ns']['mean'] / _MS:.2f} ms"
        for stage in ("linger", "broker", "poll", "commit")
        if row[f"{stage}_ns"]
    )
    print(f"  mean {stages}", flush=True)
    if sockets is not None:
        of_sockets = sockets.stages(capture, name, read)
        for what, times in zip(("packet to read", "read to the client's line"), of_sockets, strict=True):
            shares = ", ".join(f"{part} {_at(sorted(times), share) / _MS:.2f} ms" for part, share in _SHARES)
            print(f"  {what}: {shares}", flush=True)
    return good


def _at(times: Sequence[int], share: float) -> int:
    return times[max(ceil(share * len(times)) - 1, 0)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the cases that the arguments name, or all; the number of those that differ."""
    known = cases()
    parser = argparse.ArgumentParser(prog="python -m captures.record.timed_delays", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"of {', '.join(known)}")
    parser.add_argument("--output", type=Path, default=workshop.folder("run", "timed-delays"))
    parser.add_argument("--port-base", type=int, default=19000, help="first of 100 ports to use")
    parser.add_argument(
        "--sockets", action="store_true", help="also when the reader's sockets returned packets"
    )
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(Spec("4.4.0", properties={"num.partitions": "2"}), options.port_base, extensions())
    try:
        cluster.start()
        failed = [
            name
            for name in options.names or known
            if not check(cluster, options.output, name, known[name], options.sockets)
        ]
    finally:
        cluster.close()
    print(f"differ: {', '.join(failed) or 'none'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
