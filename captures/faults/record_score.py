"""Plays recordings to `kdissect record`: `python -m captures.faults.record_score [DIR ...]`.

For each fault the incident file alone is given to `why`: does it name the cause that was injected, and does
the file begin before the fault? For a healthy recording there must be no incident. Time is that of packets.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from captures.faults.recording import RECORDED, Recording, page_of, recordings
from captures.faults.score import placed
from kdissect.cli import main as kdissect
from kdissect.engine.times import SECOND_NS, ns_of
from kdissect.recorder.replayed_files import ReplayedFiles

_AT_ONCE = 3


class Recorded(NamedTuple):
    """The incidents of one recording. `is_named`, `is_before` and `is_after` are None for a healthy one."""

    name: str
    incidents: int
    is_named: bool | None
    is_before: bool | None
    is_after: bool | None
    said: str


def recorded(one: Recording, options: Sequence[str], play: "Play") -> Recorded:
    """Return what a recorder makes of a recording."""
    keys = Path(str(one.path).partition(".pcap")[0] + ".keys")
    key_logs = ["--keylog", str(keys)] if keys.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        play(str(one.path), [*key_logs, "-d", folder, *options])
        found = [
            json.loads(path.read_text()) for path in sorted(Path(folder).glob("incidents/*/incident.json"))
        ]
        if one.is_healthy:
            said = ", ".join(f"{row['headline']}" for row in found)
            return Recorded(one.name, len(found), None, None, None, said)
        named, is_before, is_after = set[str](), False, False
        since = [row["since"] for row in one.injected["injected"] if "since" in row]
        for row in found:
            causes = page_of(Path(folder) / "incidents" / row["id"] / "capture.pcapng")["causes"]
            ranks = placed(one.injected, causes).ranks
            named.update(cause for cause, rank in zip(one.injected["causes"], ranks, strict=True) if rank)
            first = row["first_packet"]
            is_before |= bool(first) and all(ns_of(first) <= ns_of(begin) for begin in since)
            latest = max(ns_of(problem["until"]) for problem in row["problems"])
            is_after |= bool(first) and latest <= ns_of(row["last_packet"])
    is_named = named >= set(one.injected["causes"])
    missing = ", ".join(cause for cause in one.injected["causes"] if cause not in named)
    return Recorded(one.name, len(found), is_named, is_before, is_after, missing)


Play = Callable[[str, Sequence[str]], object]


def _at_once(path: str, options: Sequence[str]) -> None:
    """Let a recorder read a recording as a file."""
    with contextlib.redirect_stderr(io.StringIO()):
        kdissect(["record", path, *options])


def _live(path: str, options: Sequence[str]) -> None:
    """Write a recording to a running recorder, at the times of its packets."""
    command = [sys.executable, "-m", "kdissect", "record", "-", *options]
    recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert recorder.stdin is not None
    source = ReplayedFiles([path], SECOND_NS // 10)
    begin_s, first_ns = time.monotonic(), 0
    while data := source.read():
        first_ns = first_ns or source.now_ns
        ahead_s = (source.now_ns - first_ns) / SECOND_NS - (time.monotonic() - begin_s)
        time.sleep(max(ahead_s, 0))
        recorder.stdin.write(data)
        recorder.stdin.flush()
        source.go_on()
    recorder.stdin.close()
    recorder.wait()


def main() -> int:
    """Print a line for each recording, and the shares."""
    parser = argparse.ArgumentParser(prog="python -m captures.faults.record_score", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[RECORDED], metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="these recordings")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th recording")
    parser.add_argument("--before", default="5m")
    parser.add_argument("--after", default="60s")
    parser.add_argument("--connections", default="all")
    parser.add_argument("--when", action="append", default=["cause"], help="another condition")
    parser.add_argument("--live", action="store_true", help="to standard input, as fast as it was captured")
    options = parser.parse_args()
    found = [
        one for folder in options.folders for one in recordings(folder) if one.injected or one.is_healthy
    ]
    wanted = [one for one in found if not options.only or one.name in options.only][:: options.every]
    how = ["--before", options.before, "--after", options.after, "--connections", options.connections]
    how += [word for condition in options.when for word in ("--when", condition)]
    results = []
    each = ThreadPoolExecutor(_AT_ONCE).map if options.live else map
    for result in each(lambda one: recorded(one, how, _live if options.live else _at_once), wanted):
        results.append(result)
        print(f"{result.name:45}{result.incidents} incidents  {_word(result):10}{result.said}", flush=True)
    faults = [one for one in results if one.is_named is not None]
    healthy = [one for one in results if one.is_named is None]
    print(f"\n{len(faults)} recordings of faults")
    print(f"  the incident file alone names the cause  {sum(bool(one.is_named) for one in faults)}")
    print(f"  the incident begins before the fault     {sum(bool(one.is_before) for one in faults)}")
    print(f"  it ends after the last symptom           {sum(bool(one.is_after) for one in faults)}")
    print(f"{len(healthy)} healthy recordings, {sum(one.incidents for one in healthy)} incidents")
    return 0


def _word(one: Recorded) -> str:
    return "healthy" if one.is_named is None else "named" if one.is_named else "not named:"


if __name__ == "__main__":
    sys.exit(main())
