"""What commands cost: CPU (user + system), wall time and peak memory of processes, in interleaved rounds."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SCRATCH = "{scratch}"
"""In a command: a directory that is empty before each run."""
CPU_INFO = Path("/proc/cpuinfo")
MB = 1_000_000


class Run(NamedTuple):
    """What one process and the children it waited for used."""

    cpu: float
    """User and system seconds."""
    wall: float
    """Seconds."""
    rss: int
    """Peak resident set, bytes."""
    status: int
    """Exit code, negative for a signal."""


class Side(NamedTuple):
    """One command of a contest."""

    command: tuple[str, ...]
    home: Path | None = None
    """The checkout whose kdissect runs; None for other programs."""


class Contest(NamedTuple):
    """Commands that do the same work, by who does it."""

    name: str
    sides: dict[str, Side]
    capture: Path | None = None


def fetch(path: Path) -> None:
    """Have a file in memory."""
    with path.open("rb", buffering=0) as file:
        while file.read(MB):
            pass


def _environment(home: Path | None) -> dict[str, str]:
    """Return the environment of a user. Without bytecode on disk each start compiles 400 modules in 0.4 s."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if home is not None:
        kept["PYTHONPATH"] = str(home)
    return kept


def measure(side: Side, output: Path | None = None, folder: str | None = None) -> Run:
    """Run a command to its end, output to `output` or nowhere; FileNotFoundError if it does not exist.

    `folder` is the working directory.
    """
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(output.open("wb")) if output else subprocess.DEVNULL
        start = time.perf_counter()
        process = subprocess.Popen(
            side.command,
            env=_environment(side.home),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.DEVNULL,
        )
        # wait4 and not getrusage(RUSAGE_CHILDREN): that one's peak is the maximum over all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Kilobytes on Linux, bytes on macOS (getrusage(2) of each).
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit, process.returncode)


def interleave(
    contests: list[Contest], rounds: int, output_dir: Path | None = None, warm_ups: int = 1
) -> list[dict[str, list[Run]]]:
    """For each contest the runs of its sides; every side in every round, after rounds that only warm caches.

    Contests that have a command in common, as several commands of kdissect have one pass of tshark as their
    peer, share its run of the round.
    """
    runs: list[dict[str, list[Run]]] = [{name: [] for name in contest.sides} for contest in contests]
    for number in range(warm_ups + rounds):
        done: dict[Side, Run] = {}
        for contest, kept in zip(contests, runs, strict=True):
            for name, side in contest.sides.items():
                if side not in done:
                    if contest.capture is not None and contest.capture.is_file():
                        fetch(contest.capture)
                    output = output_dir and output_dir / f"{contest.name}.{name}.out"
                    done[side] = in_scratch(side, output)
                if number >= warm_ups:
                    kept[name].append(done[side])
    return runs


def in_scratch(side: Side, output: Path | None = None) -> Run:
    """Run a command with an empty directory for what it writes."""
    with tempfile.TemporaryDirectory() as scratch:
        command = tuple(part.replace(SCRATCH, scratch) for part in side.command)
        # Elsewhere than in a checkout: `python -m` would import the kdissect of the working directory.
        return measure(side._replace(command=command), output, scratch)


def median(runs: Iterable[Run]) -> Run:
    """Return each number's median; the worst exit status."""
    cpu, wall, rss, statuses = zip(*runs, strict=True)
    return Run(
        statistics.median(cpu),
        statistics.median(wall),
        int(statistics.median(rss)),
        max(statuses, key=abs),
    )


def cpu_model() -> str:
    """Return the processor's name from Linux, or from `platform` if Linux has none."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """Return one line on where this was measured."""
    tshark = shutil.which("tshark")
    version = "no tshark"
    if tshark:
        shown = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=False).stdout
        version = " ".join(shown.split()[:3]).rstrip(".") or "tshark of unknown version"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {cpu_model()}, {python}, {version}"
