"""`kdissect live` beside dumpcap, on scenarios of the corpus: `python -m captures.record.live NAME...`.

Real brokers and clients talk on loopback while both capture. Demanded of each scenario:
- `live -w F --format jsonl` printed, byte for byte, what `inspect F --format jsonl` prints afterwards, but
  for names of topics that were learnt after a line was printed;
- in the window that both captured, the exchanges of F are those of dumpcap's file: client, broker, API,
  version, correlation id, bytes of request and response.
The corpus itself is left alone.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

from captures.record.catalogue import catalogue
from captures.record.play import played
from captures.record.sniffer import Sniffer

Row = dict[str, Any]
Facts = tuple[object, ...]
Frame = tuple[str, Facts]

_SIDES = ("request", "response")

_END_SECONDS = 20
_SHOWN = 5  # exchanges shown of those that differ: enough to see what they have in common
_HEADER = """\
| scenario | exchanges | printed as `inspect` does | exchanges of dumpcap | missing here | missing there |
|---|---:|---|---:|---:|---:|"""


class BothSniffers(Sniffer):
    """dumpcap, and around it `kdissect live`."""

    def __init__(self, ports: Iterable[int], folder: Path, options: list[str]) -> None:
        super().__init__(ports, folder / "dumpcap.pcapng")
        self.path = folder / "live.pcapng"
        self.raw = self._raw
        self.printed = folder / "live.jsonl"
        self._options = options
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
        command += [*self._options, "--format", "jsonl", "-o", str(self.printed)]
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
            self._live.terminate()  # no SIGKILL at first: the capturing child is to be ended too
            try:
                self._live.communicate(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._live.kill()
                self._live.wait()
            self._live = None


def main() -> int:
    """Compare what the arguments name; the number of scenarios that differ or cannot be played."""
    parser = argparse.ArgumentParser(prog="python -m captures.record.live", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--source", choices=("libpcap", "dumpcap", "tcpdump", "auto"), default="auto")
    parser.add_argument(
        "--port-base", type=int, default=int(os.environ.get("KDISSECT_RECORD_PORTS", "19000"))
    )
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the files of scenarios that differ")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scenarios = catalogue()
    print(_HEADER, flush=True)
    return sum(not _tried(scenarios[name], options) for name in options.names)


def _tried(module: ModuleType, options: argparse.Namespace) -> bool:
    try:
        return _compare(module, options)
    except Exception as error:  # a client that fails here and today: the other scenarios still tell something
        traceback.print_exc()
        print(f"| {module.NAME} | not played: {str(error).splitlines()[0]} |", flush=True)
        return False


def _compare(module: ModuleType, options: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        sniffer, keys = _run(module, options, Path(folder)), _key_log(module, Path(folder))
        printed, later = sniffer.printed.read_bytes(), _inspect(sniffer.path, keys)
        same = printed == later or _are_named_later(printed, later)
        ours, theirs = _rows(later), _rows(_inspect(sniffer.raw, keys))
        missing, extra = _difference(ours, theirs)
        equal = same and not missing and not extra and bool(ours)
        if options.keep and not equal:
            shutil.copytree(folder, options.keep / module.NAME, dirs_exist_ok=True)
    print(
        f"| {module.NAME} | {len(ours)} | {_how_printed(printed, later)} "
        f"| {len(theirs)} | {missing.total()} | {extra.total()} |",
        flush=True,
    )
    print(sniffer.summary, file=sys.stderr, flush=True)
    if not same:
        _show_difference(printed, later)
    for what, facts in (("missing", missing), ("too many", extra)):
        for one in list(facts)[:_SHOWN]:
            print(f"    {what}: {one}", flush=True)
    return equal


def _how_printed(printed: bytes, later: bytes) -> str:
    if printed == later:
        return "yes"
    return (
        f"{len(_different(printed, later))} topics named later" if _are_named_later(printed, later) else "NO"
    )


def _are_named_later(printed: bytes, later: bytes) -> bool:
    """Return whether the only difference is the one in docs/live.md: topics that the wire named by id
    when the line was printed, and by name afterwards.
    """
    pairs = _different(printed, later)
    return all(b"nothing" not in pair and _named(*map(json.loads, pair)) for pair in pairs)


def _named(before: Row, after: Row) -> bool:
    known, ids = set(before.pop("topics")), before["topic_ids"]
    return known <= set(after.pop("topics")) and bool(ids) and before == after


def _different(printed: bytes, later: bytes) -> list[tuple[bytes, bytes]]:
    pairs = zip_longest(printed.splitlines(), later.splitlines(), fillvalue=b"nothing")
    return [pair for pair in pairs if pair[0] != pair[1]]


def _show_difference(printed: bytes, later: bytes) -> None:
    different = _different(printed, later)
    print(f"    {len(different)} lines differ; the first: {different[0][0]!r} is not {different[0][1]!r}")


def _run(module: ModuleType, options: argparse.Namespace, folder: Path) -> BothSniffers:
    keys = _key_log(module, folder)

    def both(ports: list[int]) -> BothSniffers:
        return BothSniffers(ports, folder, ["--source", options.source, *keys])

    with played(module, options.port_base, folder, both) as lab:
        lab.sniffer.stop(folder / "scrubbed.pcapng")
    assert isinstance(lab.sniffer, BothSniffers)
    return lab.sniffer


def _key_log(module: ModuleType, folder: Path) -> list[str]:
    """Return the option for the secrets of TLS, whose file the proxy of the scenario fills while
    `live` runs.
    """
    if not module.BROKER.tls:
        return []
    path = folder / f"{module.NAME}.keys"
    path.touch()  # the option demands a file
    return ["--keylog", str(path)]


def _inspect(path: Path, keys: list[str]) -> bytes:
    command = [sys.executable, "-m", "kdissect", "inspect", str(path), "--format", "jsonl", *keys]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def _rows(lines: bytes) -> list[Row]:
    return [json.loads(line) for line in lines.splitlines()]


def _difference(ours: list[Row], theirs: list[Row]) -> tuple[Counter[Facts], Counter[Facts]]:
    """Return exchanges of dumpcap that we lack, and ours in its window that it lacks."""
    times = [time for row in theirs for time in _times(row)]
    window = min(times), max(times)
    mine = {(side, _frame(row, side)): row for row in ours for side in _SIDES if row[side] is not None}
    whole = [row for row in theirs if not _is_cut(row, mine, window)]
    inside = [row for row in ours if all(window[0] <= time <= window[1] for time in _times(row))]
    return _counted(whole) - _counted(ours), _counted(inside) - _counted(theirs)


def _is_cut(row: Row, mine: dict[Frame, Row], window: tuple[int, int]) -> bool:
    """Return whether half of an exchange lies outside what dumpcap captured, so that it is not in the common
    window.

    dumpcap begins after us and ends before us. An orphan response of its file is allowed where the same
    response is here with a request from before its begin, an unanswered request where the same request is
    here with an answer from behind its end; what we know from inside its window is a difference.
    """
    if row["state"] == "orphan_response":
        known = mine.get(("response", _frame(row, "response")))
        return known is not None and known["request"] is not None and _times(known)[0] < window[0]
    if row["state"] == "unanswered":
        known = mine.get(("request", _frame(row, "request")))
        return known is not None and known["response"] is not None and _times(known)[-1] > window[1]
    return False


def _frame(row: Row, side: str) -> Facts:
    return (*(row[name] for name in ("client", "broker", "correlation_id")), row[side]["bytes"])


def _counted(rows: Iterable[Row]) -> Counter[Facts]:
    return Counter(map(_facts, rows))


def _times(row: Row) -> list[int]:
    sides = [row[side] for side in _SIDES if row[side] is not None]
    return [side[name] for side in sides for name in ("time_ns", "end_time_ns")]


def _facts(row: Row) -> Facts:
    sizes = tuple(row[side] and row[side]["bytes"] for side in _SIDES)
    names = ("client", "broker", "correlation_id", "api_key", "api_version", "state")
    return (*(row[name] for name in names), *sizes)


if __name__ == "__main__":
    sys.exit(main())
