"""`kdissect live` beside dumpcap, on scenarios of the corpus: `python -m captures.record.live NAME...`.

Real brokers and clients talk on loopback while both capture. Demanded of each scenario:
- `live -w F --format jsonl` printed, byte for byte, what `inspect F --format jsonl` prints afterwards;
- in the window that both captured, the exchanges of F are those of dumpcap's file: client, broker, API,
  version, correlation id, bytes of request and response.
The corpus itself is left alone.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

from captures.record import java
from captures.record.broker import Cluster
from captures.record.catalogue import catalogue, story
from captures.record.lab import Lab
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth

Row = dict[str, Any]


class BothSniffers(Sniffer):
    """dumpcap, and around it `kdissect live`."""

    def __init__(self, ports: Iterable[int], folder: Path, source: str) -> None:
        super().__init__(ports, folder / "dumpcap.pcapng")
        self.path = folder / "live.pcapng"
        self.raw = self._raw
        self.printed = folder / "live.jsonl"
        self._source = source
        self._live: subprocess.Popen[bytes] | None = None
        self.summary = ""

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "kdissect",
            "live",
            "-i",
            "lo",
            "-f",
            self._filter,
            "-w",
            str(self.path),
        ]
        command += ["--source", self._source, "--format", "jsonl", "-o", str(self.printed)]
        self._live = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
        assert self._live.stderr is not None
        said = self._live.stderr.readline().decode()
        if "capturing on" not in said:
            raise RuntimeError(f"kdissect live does not capture: {said}")
        super().start()

    def stop(self, target: Path) -> int:
        packets = super().stop(target)
        live = self._live
        assert live is not None
        live.send_signal(signal.SIGINT)
        _, said = live.communicate(timeout=120)
        self._live = None
        self.summary = said.decode().strip()
        if live.returncode:
            raise RuntimeError(f"kdissect live ended with {live.returncode}: {self.summary}")
        return packets

    def abandon(self) -> None:
        super().abandon()
        if self._live is not None:
            self._live.kill()
            self._live.wait()


def main() -> int:
    """Compare what the arguments name; the number of scenarios that differ."""
    parser = argparse.ArgumentParser(prog="python -m captures.record.live", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--source", choices=("libpcap", "dumpcap", "tcpdump", "auto"), default="auto")
    parser.add_argument(
        "--port-base", type=int, default=int(os.environ.get("KDISSECT_RECORD_PORTS", "19000"))
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scenarios = catalogue()
    return sum(not _compare(scenarios[name], options) for name in options.names)


def _compare(module: ModuleType, options: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        sniffer = _run(module, options, Path(folder))
        printed, later = sniffer.printed.read_bytes(), _inspect(sniffer.path)
        same = printed == later
        ours, theirs = _rows(later), _rows(_inspect(sniffer.raw))
        missing, extra = _difference(ours, theirs)
    print(
        f"{module.NAME}: live printed {len(ours)} exchanges, {'as' if same else 'NOT AS'} inspect does; "
        f"dumpcap's file has {len(theirs)}, {missing} of them missing, {extra} too many; {sniffer.summary}",
        flush=True,
    )
    if not same:
        _show_difference(printed, later)
    return same and not missing and not extra and bool(ours)


def _show_difference(printed: bytes, later: bytes) -> None:
    pairs = zip_longest(printed.splitlines(), later.splitlines(), fillvalue=b"nothing")
    different = [pair for pair in pairs if pair[0] != pair[1]]
    print(f"    {len(different)} lines differ; the first: {different[0][0]!r} is not {different[0][1]!r}")


def _run(module: ModuleType, options: argparse.Namespace, folder: Path) -> BothSniffers:
    spec = module.BROKER
    cluster = Cluster(spec, options.port_base, java.extensions() if spec.modern else None)
    sniffer = BothSniffers(cluster.ports(spec.sniff), folder, options.source)
    lab = Lab(cluster, sniffer, Truth(module.NAME, story(module), spec.version), folder)
    try:
        if spec.from_start:
            sniffer.start()
        cluster.start()
        if not spec.from_start:
            sniffer.start()
        module.run(lab)
        lab.close()
        sniffer.stop(folder / "scrubbed.pcapng")
    finally:
        lab.close()
        sniffer.abandon()
        cluster.close()
    return sniffer


def _inspect(path: Path) -> bytes:
    command = [sys.executable, "-m", "kdissect", "inspect", str(path), "--format", "jsonl"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def _rows(lines: bytes) -> list[Row]:
    return [json.loads(line) for line in lines.splitlines()]


def _difference(ours: list[Row], theirs: list[Row]) -> tuple[int, int]:
    """Exchanges of dumpcap that we lack, and ours in its window that it lacks."""
    times = [time for row in theirs for time in _times(row)]
    first, last = min(times), max(times)
    inside = [row for row in ours if all(first <= time <= last for time in _times(row))]
    mine, other = Counter(map(_facts, inside)), Counter(map(_facts, theirs))
    missing = (other - Counter(map(_facts, ours))).elements()
    # dumpcap ends first: what it has as unanswered may have an answer here.
    asked = set(map(_request_facts, ours))
    return sum(facts[5] != "unanswered" or _asked(facts) not in asked for facts in missing), (
        mine - other
    ).total()


def _request_facts(row: Row) -> tuple[object, ...]:
    return _asked(_facts(row))


def _asked(facts: tuple[object, ...]) -> tuple[object, ...]:
    """Without what the response tells: state and bytes of the response."""
    return (*facts[:5], facts[6])


def _times(row: Row) -> list[int]:
    sides = [row[side] for side in ("request", "response") if row[side] is not None]
    return [side[name] for side in sides for name in ("time_ns", "end_time_ns")]


def _facts(row: Row) -> tuple[object, ...]:
    sizes = tuple(row[side] and row[side]["bytes"] for side in ("request", "response"))
    names = ("client", "broker", "correlation_id", "api_key", "api_version", "state")
    return (*(row[name] for name in names), *sizes)


if __name__ == "__main__":
    sys.exit(main())
