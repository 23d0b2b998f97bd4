"""How a run on Spark grows with the capture and with cores, against one process.

    python benchmarks/spark_growth.py --sizes 200MB,2GB --cores 1,2 --shapes 1x1,20x1,40x40 --work growth
    python benchmarks/spark_growth.py --sizes 200MB --connections 100,400,1600 --cores 2 --work growth
    python benchmarks/spark_growth.py --sizes 200MB --cores 2 --shapes 1x1,4x4,40x40 --store --work growth

Makes synthetic sets of files (generate.py, rotate.py) once for each size, shape (FILESxSETS) and number of
connections, which all sets of a capture have together, whatever its size. Prints a line a run: time, CPU,
peak memory of all processes together and of the largest Python; for Spark also when its first task began, the
time in which stages ran, the bytes shuffled as a share of the capture, and what it took beyond a run over
next to nothing, as a multiple of what one process took for the same tables. Reported, never asserted. Spark
writes its event log, from which tasks, stages and shuffled bytes are read. With several numbers of
connections it says how much longer a run takes with more of them.

`--store`: a run more, over the same files in an object store on loopback (object_store.py): how often each
byte was read, the CPU of the store, and what the run took beyond start-up as a multiple of that over files.

Behind them `--bars` prints what must hold beyond start-up, each with what was measured:

    python benchmarks/spark_growth.py --bars --sizes 200MB,2GB,10GB --shapes 20x1,1x1 --work growth

The connections of a capture begin within its first seventh, and nine of ten go on to its end, through all of
its files. Each has producers and members of its own: copies of one small capture would show one producer id
in many places, which no cluster does.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from object_store import CREDENTIALS, Store, serving
from traffic.options import CONNECTIONS_RANGE, parse_size

HERE = Path(__file__).parent
POLL_S = 0.2
KDISSECT = (sys.executable, "-m", "kdissect")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """What a command took: seconds, seconds of CPU, peak bytes of memory, and of its largest Python; seconds
    of CPU of the command's own process, which on Spark does what is done behind the tasks.
    """

    seconds: float
    cpu: float
    peak: int
    python: int
    own_cpu: float


class Run(NamedTuple):
    """One line: what ran on what, what it took, and beyond start-up as a multiple of one process; beyond
    start-up, too, seconds for each byte, and the share of CPU behind the tasks.
    """

    shape: Shape
    cores: str
    cost: Cost
    told: Told
    wall: float
    cpu: float
    byte_s: float
    behind: float


class Bar(NamedTuple):
    """What must hold: its words, the limit, and what was measured (None: not in this run)."""

    words: str
    limit: float
    found: float | None
    unit: str = ""


class Shape(NamedTuple):
    """A capture: its size as it was given, files, capture sets, and connections that are open at a time."""

    size: str
    files: int = 1
    sets: int = 1
    connections: int = 25

    def __str__(self) -> str:
        return f"{self.size} {self.files}x{self.sets} {self.connections}"


# A capture that costs nothing but the start.
NOTHING = Shape("100kB")


def main(arguments: list[str]) -> int:
    """Measure all; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="200MB,2GB")
    parser.add_argument("--shapes", default="20x1")
    parser.add_argument(
        "--connections", default=str(CONNECTIONS_RANGE[1]), help="of a capture of any size: 100,400"
    )
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--profile", default="small")
    parser.add_argument("--tables", help="as of `tables`; default: its own")
    parser.add_argument("--bars", action="store_true", help="print what must hold, too")
    parser.add_argument("--store", action="store_true", help="run over an object store, too")
    parser.add_argument("--work", type=Path, required=True, help="folder for captures and tables")
    chosen = parser.parse_args(arguments)
    chosen.work.mkdir(parents=True, exist_ok=True)
    print(
        f"{'capture':>19} {'how':16} {'time':>8} {'CPU':>8} {'memory':>8} {'a Python':>8} {'task at':>7} "
        f"{'stages':>8} {'shuffled':>9}   beyond start-up, of `tables`"
    )
    starts: dict[str, Cost] = {}
    first_task: dict[str, float] = {}
    for cores in chosen.cores.split(","):
        starts[cores], told = spark(chosen, NOTHING, cores)
        first_task[cores] = told.first_task_s
        show("start-up", f"spark local[{cores}]", starts[cores], f"{told.first_task_s:6.1f}s")
    runs: list[Run] = []
    with ExitStack() as stack:
        store = stack.enter_context(serving(chosen.work)) if chosen.store else None
        for shape in shapes(chosen):
            runs += compare(chosen, shape, starts, store)
    for line in by_connections(runs):
        print(line)
    if chosen.bars:
        for bar in bars(runs, first_task):
            show_bar(bar)
    return 0


def shapes(chosen: argparse.Namespace) -> Iterator[Shape]:
    """Yield all captures that are asked for."""
    for size in chosen.sizes.split(","):
        for text in chosen.shapes.split(","):
            files, sets = map(int, text.split("x"))
            for connections in map(int, chosen.connections.split(",")):
                yield Shape(size, files, sets, connections)


def compare(
    chosen: argparse.Namespace, shape: Shape, starts: dict[str, Cost], store: Store | None
) -> Iterator[Run]:
    """Yield one process, and Spark on as many cores as are asked for; over the store, too, if there is
    one.
    """
    captures = capture(chosen, shape)
    place = ["--output", str(chosen.work / "tables"), "--overwrite", *tables(chosen)]
    alone = measured([*KDISSECT, "tables", *folders(captures), *place])
    show(str(shape), "tables", alone)
    for cores, start in starts.items():
        cost, told = spark(chosen, shape, cores)
        size = sum(path.stat().st_size for path in captures.rglob("*.pcap*"))
        share = told.shuffled / size
        beyond = [
            max(0.0, mine - before) / of
            for mine, before, of in zip(cost[:2], start[:2], alone[:2], strict=True)
        ]
        more = f"{told.first_task_s:6.1f}s {told.stages_s:7.1f}s {share:8.3%}"
        more += f"   time x{beyond[0]:.2f}, CPU x{beyond[1]:.2f}"
        show(str(shape), f"spark local[{cores}]", cost, more)
        if store is not None:
            over_store(chosen, shape, cores, store, (start, cost, size))
        seconds, cpu = cost.seconds - start.seconds, max(cost.cpu - start.cpu, 1e-9)
        behind = max(0.0, cost.own_cpu - start.own_cpu) / cpu
        told = told._replace(shuffled_share=share)
        yield Run(shape, cores, cost, told, *beyond, seconds / parse_size(shape.size), behind)


def over_store(
    chosen: argparse.Namespace, shape: Shape, cores: str, store: Store, files: tuple[Cost, Cost, int]
) -> None:
    """Measure a run out of an object store, and compare it with the start and the run over `files`."""
    start, over_files, size = files
    before = store.counts()
    cost, told = spark(chosen, shape, cores, store)
    counts = store.counts()
    time_, cpu = (
        (mine - nothing) / (other - nothing) if other > nothing else float("nan")  # the machine was busy
        for mine, other, nothing in zip(cost[:2], over_files[:2], start[:2], strict=True)
    )
    more = f"{told.first_task_s:6.1f}s {told.stages_s:7.1f}s   of files: time x{time_:.2f}, CPU x{cpu:.2f}; "
    more += f"each byte {counts.bytes / size:.2f} times, {counts.requests} requests, "
    more += f"the store took {counts.cpu_s - before.cpu_s:.1f}s of CPU"
    show(str(shape), f"spark local[{cores}] s3", cost, more)


def by_connections(runs: Sequence[Run]) -> Iterator[str]:
    """Yield how much longer captures take that differ in their number of connections alone."""
    alike: dict[tuple[str, Shape], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.cores, run.shape._replace(connections=0)), []).append(run)
    for (cores, shape), found in alike.items():
        found.sort(key=lambda run: run.shape.connections)
        for few, many in combinations(found, 2):
            longer = many.byte_s / few.byte_s if few.byte_s > 0 else float("nan")
            yield (
                f"{shape.size} {shape.files}x{shape.sets} on local[{cores}]: {many.shape.connections} "
                f"connections take {longer:.2f} times as long as {few.shape.connections}"
            )


def bars(runs: Sequence[Run], first_task: Mapping[str, float]) -> Iterator[Bar]:
    """Yield what must hold of runs of one capture set, by what was measured."""

    def most(values: Iterable[float]) -> float | None:
        return max(values, default=None)

    def beyond(values: Iterable[float]) -> float | None:
        """Return where a run took less than the start had, the machine was busy: that measures nothing."""
        found = list(values)
        return None if any(value <= 0 for value in found) else most(found)

    alone = [run for run in runs if run.shape.sets == 1]
    on_two, on_one = ([run for run in alone if run.cores == cores] for cores in ("2", "1"))
    yield Bar("start to the first task, two cores", 10, first_task.get("2"), "s")
    yield Bar("wall on two cores, of one process", 0.65, beyond(run.wall for run in on_two))
    yield Bar("CPU on two cores, of one process", 1.3, beyond(run.cpu for run in on_two))
    yield Bar("wall on one core, of one process", 1.3, beyond(run.wall for run in on_one))
    yield Bar("growth from the smallest to the largest", 1.15, growth(on_two))
    yield Bar("shuffled, of the capture", 0.02, most(run.told.shuffled_share for run in runs))
    yield Bar("CPU behind the tasks (second stage), of all", 0.1, beyond(run.behind for run in alone))
    yield Bar("memory of the largest Python", 700, most(run.cost.python / 1e6 for run in runs), "MB")


def growth(runs: Sequence[Run]) -> float | None:
    """Return how many times the seconds for a byte of one size are those of any smaller one with as many
    files and connections, at most; None for one size.
    """
    alike: dict[Shape, list[tuple[int, float]]] = {}
    for run in runs:
        alike.setdefault(run.shape._replace(size=""), []).append((parse_size(run.shape.size), run.byte_s))
    pairs = [pair for found in alike.values() for pair in combinations(sorted(found), 2)]
    return max((more / less for (_, less), (_, more) in pairs if less > 0), default=None)


def show_bar(bar: Bar) -> None:
    """One line."""
    if bar.found is None:
        print(f"{bar.words:>64}: at most {bar.limit:g}{bar.unit}, not measured in this run")
        return
    verdict = "holds" if bar.found <= bar.limit else "MISSED"
    print(f"{bar.words:>64}: at most {bar.limit:g}{bar.unit}, {bar.found:.3g}{bar.unit}  {verdict}")


def spark(
    chosen: argparse.Namespace, shape: Shape, cores: str, store: Store | None = None
) -> tuple[Cost, Told]:
    """Return what a run on so many cores took, and what its log says; over files, or out of a store."""
    log = chosen.work / "log"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    places = folders(capture(chosen, shape))
    if store is not None:
        places = [store.url(str(Path(place).relative_to(chosen.work))) for place in places]
    began = time.time()
    cost = measured([*pipeline(places, chosen.work / "tables_of_spark", cores, log), *tables(chosen)])
    return cost, told_by(log, began)


def tables(chosen: argparse.Namespace) -> list[str]:
    """Return the options of what tables are made."""
    return ["--tables", chosen.tables] if chosen.tables else []


def capture(chosen: argparse.Namespace, shape: Shape) -> Path:
    """Return the folder of a capture, made when it is not there."""
    folder: Path = chosen.work / f"{chosen.profile} {shape}".replace(" ", "-")
    if not folder.is_dir():
        size = parse_size(shape.size) // shape.sets
        options = ["--size", str(size), "--profile", chosen.profile, "--reorder", "0.1%"]
        options += ["--connections", str(max(CONNECTIONS_RANGE[0], shape.connections // shape.sets))]
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for host in range(shape.sets):
            whole = chosen.work / "whole.pcap"
            run = [
                sys.executable,
                str(HERE / "generate.py"),
                *options,
                "--seed",
                str(host + 1),
                "-o",
                str(whole),
            ]
            subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
            place = part / f"host{host}" if shape.sets > 1 else part
            dealt = ["--files", str(max(1, shape.files // shape.sets)), "--network", str(host)]
            run = [sys.executable, str(HERE / "rotate.py"), str(whole), *dealt, "--output", str(place)]
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
            whole.unlink()
        part.rename(folder)
    return folder


def folders(captures: Path) -> list[str]:
    """Return the folders of all hosts, or the only folder."""
    return [str(path) for path in sorted(captures.glob("host*"))] or [str(captures)]


def pipeline(captures: list[str], output: Path, cores: str, log: Path) -> list[str]:
    """Return the command of a run on so many cores."""
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    place = ["--output", str(output), "--overwrite", "--master", f"local[{cores}]"]
    return [*KDISSECT, "pipeline", "run", *captures, *place, *settings]


def measured(command: list[str]) -> Cost:
    """Run a command and look at all its processes while it runs."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:  # a pipe that nobody reads would stop who fills it
        environment = os.environ | CREDENTIALS
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env=environment)
        cpu_s, peak, python, own_s = followed(process)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{said.read()}")
    return Cost(time.monotonic() - started, cpu_s, peak, python, own_s)


def followed(process: subprocess.Popen[Any]) -> tuple[float, int, int, float]:
    """Look at a process until it ends: seconds of CPU and peak bytes of memory of it and all below it, and of
    the largest Python among them; seconds of CPU of it alone.
    """
    ticks: dict[int, int] = {}
    peak = python = 0
    while process.poll() is None:
        found = list(family(process.pid))
        ticks.update({pid: used for pid, used, _, _ in found})
        peak = max(peak, sum(size for _, _, size, _ in found))
        python = max(python, *(size for _, _, size, name in found if name.startswith("python")), 0, 0)
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
    return sum(ticks.values()) / TICKS, peak, python, ticks.get(process.pid, 0) / TICKS


def family(root: int) -> Iterator[tuple[int, int, int, str]]:
    """(process, CPU ticks, resident bytes not shared with files, name) of a process and all below it."""
    stats = {int(entry.name): _stat(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    known: set[int] = set()
    more = {root}
    while more:
        known |= more
        more = {pid for pid, (parent, *_) in stats.items() if parent in known} - known
    yield from ((pid, *stats[pid][1:]) for pid in known if pid in stats)


def _stat(entry: Path) -> tuple[int, int, int, str]:
    """(parent, CPU ticks, resident bytes, name); proc(5)."""
    try:
        name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        _, resident, shared, *_ = map(int, (entry / "statm").read_text().split())
    except OSError:  # it ended while we looked
        return -1, 0, 0, ""
    return int(fields[1]), int(fields[11]) + int(fields[12]), (resident - shared) * PAGE, name


class Told(NamedTuple):
    """What a log says: when the first task began, seconds in which any stage ran, and bytes shuffled; as a
    share of the capture, once that is known.
    """

    first_task_s: float
    stages_s: float
    shuffled: int
    shuffled_share: float = 0.0


def told_by(log: Path, began: float) -> Told:
    """By Spark's event log of a run that began at a time in seconds since 1970."""
    spans, first, shuffled = [], [], 0
    for path in log.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerStageCompleted":
                info = event["Stage Info"]
                spans.append((info["Submission Time"], info["Completion Time"]))
            elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                first.append(event["Task Info"]["Launch Time"])
                shuffled += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    stages = max(end for _, end in spans) - min(start for start, _ in spans)
    return Told(min(first) / 1000 - began, stages / 1000, shuffled)


def show(size: str, how: str, cost: Cost, more: str = "") -> None:
    """One line."""
    print(
        f"{size:>19} {how:16} {cost.seconds:7.1f}s {cost.cpu:7.1f}s {cost.peak / 1e6:6.0f}MB "
        f"{cost.python / 1e6:6.0f}MB {more}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
