"""Compares the cost of whole commands: CPU (user + system), wall time and peak memory, as a Markdown table.

    python benchmarks/compare.py --rounds 5 mtu.pcap       # kdissect inspect against tshark -T fields
    python benchmarks/compare.py --task check mtu.pcap     # kdissect check against tshark -V
    python benchmarks/compare.py --task all mtu.pcap       # every work, ratios beside what is aimed at
    python benchmarks/compare.py --pair 'sort big.txt' 'sort -n big.txt' --name sort --output-dir out

Rounds are interleaved (A B A B ...), so that a machine that slows down slows both. A capture is read once
before each round of its own: what the machine takes to fetch it from its disk would be the first command's.
Nothing is judged.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_PASS = "tshark -r {capture} -d tcp.port==9092,kafka"
_LIST = f"{_PASS} -T fields -e frame.number -e kafka.api_key -e kafka.api_version -e kafka.correlation_id"
_RECORDS = f"{_PASS} -T fields -e kafka.offset -e kafka.message_key -e kafka.message_value"
_VERBOSE = f"{_PASS} -V -O kafka"


class Task(NamedTuple):
    """A work of kdissect, and the pass of tshark that comes nearest to it."""

    work: str
    against: str
    aim: str
    """The part of tshark's CPU that it may take: small frames and empty polls; segments of an MTU."""


def _of_list(command: str) -> Task:
    return Task(f"kdissect {command} {{capture}}", _LIST, "0.15; 0.10")


# What works and passes do not have in common: docs/performance.md. `{scratch}` is a directory that is empty
# before each command.
TASKS = {
    "list": Task("kdissect inspect --format jsonl {capture}", _LIST, "0.12; 0.08"),
    "bodies": Task(
        "kdissect inspect --bodies --records --format jsonl {capture}", f"{_PASS} -T ek -J kafka", "1/5"
    ),
    "deep": Task("kdissect info --deep {capture}", _VERBOSE, "1/6"),
    "records": Task("kdissect records --format parquet --output /dev/null {capture}", _RECORDS, "0.15"),
    "tsv": Task("kdissect records --format tsv {capture}", _RECORDS, "0.40; 0.60"),
    "check": Task("kdissect check --exit-zero {capture}", _VERBOSE, "0.25; 0.20"),
    "why": Task("kdissect why {capture}", _VERBOSE, "0.50"),
    "tree": Task("kdissect inspect --format tree {capture}", _VERBOSE, "0.70; 0.50"),
    "tables": Task("kdissect tables {capture} --output {scratch}/tables", _LIST, "0.40"),
    "extract": Task(
        "kdissect extract {capture} -Y 'api == Produce' --output {scratch}/out.pcapng",
        f"{_PASS} -Y 'kafka.api_key == 0' -w {{scratch}}/out.pcapng",
        "0.15; 0.30",
    ),
    "upgrade": _of_list("upgrade --target 4.4 --fail-on never"),
    **{
        name: _of_list(name)
        for name in ("stats", "topics", "groups", "producers", "fetch-sessions", "connections")
    },
}
ALL = "all"
SCRATCH = "{scratch}"
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


class Pair(NamedTuple):
    """A work, and the command it is measured against."""

    name: str
    work: list[str]
    against: list[str]
    task: str = ""
    """Key of `TASKS`, empty for commands of a --pair."""
    capture: Path | None = None


def fetch(path: Path) -> None:
    """Have a file in memory."""
    with path.open("rb", buffering=0) as file:
        while file.read(MB):
            pass


def _environment() -> dict[str, str]:
    """That of a user: without bytecode on disk each start compiles some 400 modules, which takes 0.4 s."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: list[str], output: Path | None = None) -> Run:
    """Run a command to its end, output to `output` or nowhere; FileNotFoundError if it does not exist."""
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(output.open("wb")) if output else subprocess.DEVNULL
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=_environment(), stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.DEVNULL
        )
        # wait4 and not getrusage(RUSAGE_CHILDREN): that one's peak is the maximum over all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Kilobytes on Linux, bytes on macOS (getrusage(2) of each).
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit, process.returncode)


def interleave(
    pairs: list[Pair], rounds: int, output_dir: Path | None = None, warm_ups: int = 1
) -> list[list[tuple[Run, Run]]]:
    """For each pair its (work, against) runs; all pairs in every round, after those that only warm caches."""
    runs: list[list[tuple[Run, Run]]] = [[] for _ in pairs]
    for number in range(warm_ups + rounds):
        for index, pair in enumerate(pairs):
            if pair.capture is not None and pair.capture.is_file():
                fetch(pair.capture)
            place = output_dir and output_dir / f"{pair.task}{pair.task and '.'}{pair.name}"
            work = _in_scratch(pair.work, place and place.with_name(f"{place.name}.work.out"))
            against = _in_scratch(pair.against, place and place.with_name(f"{place.name}.against.out"))
            if number >= warm_ups:
                runs[index].append((work, against))
    return runs


def _in_scratch(command: list[str], output: Path | None) -> Run:
    with tempfile.TemporaryDirectory() as scratch:
        return measure([part.replace(SCRATCH, scratch) for part in command], output)


def median(runs: list[Run]) -> Run:
    """Each number's median; the worst exit status."""
    return Run(
        statistics.median(run.cpu for run in runs),
        statistics.median(run.wall for run in runs),
        int(statistics.median(run.rss for run in runs)),
        max((run.status for run in runs), key=abs),
    )


def ratio(work: float, against: float) -> str:
    """`work` as a part of `against`."""
    return f"{work / against:.3f}" if against else "-"


def row(name: str, kind: str, run: Run) -> str:
    """One line of the table for one side."""
    failed = f" (exit {run.status})" if run.status else ""
    return f"| {name} | {kind}{failed} | {run.cpu:.3f} | {run.wall:.3f} | {run.rss / MB:.0f} |"


def table(pairs: list[Pair], runs: list[list[tuple[Run, Run]]]) -> str:
    """The Markdown table: two rows of medians and one of ratios a pair, with exit codes other than 0."""
    lines = ["| work | command | CPU s | wall s | peak MB |", "|---|---|---:|---:|---:|"]
    for pair, measured in zip(pairs, runs, strict=True):
        work = median([first for first, _ in measured])
        against = median([second for _, second in measured])
        lines.append(row(pair.name, Path(pair.work[0]).name, work))
        lines.append(row(pair.name, Path(pair.against[0]).name, against))
        parts = (ratio(getattr(work, field), getattr(against, field)) for field in ("cpu", "wall", "rss"))
        lines.append(f"| {pair.name} | ratio | {' | '.join(parts)} |")
    return "\n".join(lines)


def aims_table(pairs: list[Pair], runs: list[list[tuple[Run, Run]]]) -> str:
    """One row for each task and capture: CPU of both, the ratio and what is aimed at, peak memory of both.

    A task that failed is told with its exit code.
    """
    lines = [
        "| task | capture | CPU s | against | ratio | aim | wall ratio | peak MB | against |",
        "|---|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for pair, measured in zip(pairs, runs, strict=True):
        work = median([first for first, _ in measured])
        against = median([second for _, second in measured])
        failed = next((f" (exit {run.status})" for run in (work, against) if run.status), "")
        lines.append(
            f"| {pair.task}{failed} | {pair.name} | {work.cpu:.2f} | {against.cpu:.2f} "
            f"| {ratio(work.cpu, against.cpu)} | {TASKS[pair.task].aim} "
            f"| {ratio(work.wall, against.wall)} | {work.rss / MB:.0f} | {against.rss / MB:.0f} |"
        )
    return "\n".join(lines)


def cpu_model() -> str:
    """The processor's name where Linux tells it, else what `platform` knows."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """One line on where this was measured."""
    tshark = shutil.which("tshark")
    version = "no tshark"
    if tshark:
        shown = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=False).stdout
        version = " ".join(shown.split()[:3]).rstrip(".") or "tshark of unknown version"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {cpu_model()}, {python}, {version}"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; exits with 2 on a mistake."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("captures", nargs="*", type=Path, help="kdissect against tshark on each of these")
    add("--pair", nargs=2, action="append", default=[], metavar=("WORK", "AGAINST"), help="two commands")
    add("--name", action="append", default=[], help="of a --pair, in their order")
    add("--rounds", type=int, default=5)
    add("--warm-ups", type=int, default=1, help="rounds before those, which do not count; default: 1")
    add(
        "--task",
        choices=[*TASKS, ALL],
        action="append",
        help="what to do with captures; may be repeated; default: list",
    )
    add("--work", help="command for captures instead of the task's, with {capture}")
    add("--against", help="command to compare with instead of the task's, with {capture}")
    add("--output-dir", type=Path, help="keep the commands' output here; default: discarded")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1 or chosen.warm_ups < 0 or not (chosen.captures or chosen.pair):
        parser.error("needs at least one round and one capture or --pair")
    chosen.task = list(TASKS) if ALL in (chosen.task or ()) else chosen.task or ["list"]
    return chosen


def pairs_of(chosen: argparse.Namespace) -> list[Pair]:
    """What the command line asks to compare."""
    pairs = []
    for task in chosen.task:
        commands = chosen.work or TASKS[task].work, chosen.against or TASKS[task].against
        for capture in chosen.captures:
            place = shlex.quote(str(capture))
            work, against = (shlex.split(text.format(capture=place, scratch=SCRATCH)) for text in commands)
            pairs.append(Pair(capture.name, work, against, task, capture))
    for index, (work, against) in enumerate(chosen.pair):
        name = chosen.name[index] if index < len(chosen.name) else f"pair {index + 1}"
        pairs.append(Pair(name, shlex.split(work), shlex.split(against)))
    return pairs


def main(arguments: list[str]) -> int:
    """Measure and print; 2 when a command does not exist or failed, as its numbers mean nothing then."""
    chosen = parse_arguments(arguments)
    if chosen.output_dir:
        chosen.output_dir.mkdir(parents=True, exist_ok=True)
    pairs = pairs_of(chosen)
    try:
        runs = interleave(pairs, chosen.rounds, chosen.output_dir, chosen.warm_ups)
    except FileNotFoundError as error:
        print(f"compare: no such command: {error.filename}", file=sys.stderr)
        return 2
    tasks_alone = len(chosen.task) > 1 and not chosen.pair
    print(aims_table(pairs, runs) if tasks_alone else table(pairs, runs))
    print(f"\nMedians of {chosen.rounds} interleaved rounds; {machine()}.")
    return 2 if any(run.status for measured in runs for both in measured for run in both) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
