"""How a run on Spark grows with the capture and with cores, against one process.

    python benchmarks/spark_growth.py --sizes 200MB,2GB --cores 1,2 --work growth

Makes a synthetic set of rotated files (generate.py, rotate.py) once for each size and prints a line a run:
time, CPU, peak memory of all processes together; for Spark also the time in which stages ran, the bytes
shuffled as a share of the capture, and what it took beyond a run over next to nothing, as a multiple of what
one process took for the same tables. Reported, never asserted. Spark writes its event log, from which the
shuffled bytes and the time of the stages are read.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from traffic.options import parse_size

HERE = Path(__file__).parent
FILE_BYTES = 100_000_000
# More is made of copies with other addresses: the generator writes 5 MB a second.
BASE_BYTES = 50_000_000
# A capture that costs nothing but the start.
NOTHING = "100kB"
POLL_S = 0.5
KDISSECT = (sys.executable, "-m", "kdissect")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """What a command took: seconds, seconds of CPU, peak bytes of memory."""

    seconds: float
    cpu: float
    peak: int


def main(arguments: list[str]) -> int:
    """Measure all; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="200MB,2GB")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--tables", default="connections,exchanges")
    parser.add_argument("--work", type=Path, required=True, help="folder for captures and tables")
    chosen = parser.parse_args(arguments)
    chosen.work.mkdir(parents=True, exist_ok=True)
    print(
        f"{'capture':>9} {'how':16} {'time':>8} {'CPU':>8} {'memory':>8} {'stages':>8} {'shuffled':>9}"
        "   beyond start-up, of `tables`"
    )
    starts: dict[str, Cost] = {}
    for cores in chosen.cores.split(","):
        starts[cores] = spark(chosen, NOTHING, cores)[0]
        show("start-up", f"spark local[{cores}]", starts[cores])
    for size in chosen.sizes.split(","):
        captures = capture(chosen.work, size)
        show(size, "inspect", measured([*KDISSECT, "inspect", "--format", "jsonl", str(captures)]))
        place = ["--output", str(chosen.work / "tables"), "--overwrite", "--tables", chosen.tables]
        alone = measured([*KDISSECT, "tables", str(captures), *place])
        show(size, "tables", alone)
        for cores in chosen.cores.split(","):
            cost, stages, shuffled = spark(chosen, size, cores)
            share = shuffled / sum(path.stat().st_size for path in captures.iterdir())
            beyond = [
                max(0.0, mine - start) / of
                for mine, start, of in zip(cost[:2], starts[cores][:2], alone[:2], strict=True)
            ]
            told = f"{stages:7.1f}s {share:8.1%}   time x{beyond[0]:.1f}, CPU x{beyond[1]:.1f}"
            show(size, f"spark local[{cores}]", cost, told)
    return 0


def spark(chosen: argparse.Namespace, size: str, cores: str) -> tuple[Cost, float, int]:
    """What a run on so many cores took, seconds of its stages, and bytes shuffled."""
    log = chosen.work / "log"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    captures = capture(chosen.work, size)
    cost = measured(pipeline(captures, chosen.work / "tables_of_spark", cores, log, chosen.tables))
    return cost, *told(log)


def capture(work: Path, size: str) -> Path:
    """The folder of rotated files of a size, made when it is not there."""
    folder = work / size
    if not folder.is_dir():
        whole = work / f"{size}.pcap"
        copies = -(-parse_size(size) // BASE_BYTES)
        base = str(parse_size(size) // copies)
        options = ["--size", base, "--profile", "mtu", "--connections", "25", "--reorder", "0.1%"]
        run = [sys.executable, str(HERE / "generate.py"), *options, "-o", str(whole)]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        files = str(max(2, parse_size(size) // FILE_BYTES))
        shape = ["--copies", str(copies), "--files", files, "--output", str(folder)]
        subprocess.run(
            [sys.executable, str(HERE / "rotate.py"), str(whole), *shape],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        whole.unlink()
    return folder


def pipeline(captures: Path, output: Path, cores: str, log: Path, tables: str) -> list[str]:
    """The command of a run on so many cores."""
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    place = ["--output", str(output), "--overwrite", "--tables", tables, "--master", f"local[{cores}]"]
    return [*KDISSECT, "pipeline", "run", str(captures), *place, *settings]


def measured(command: list[str]) -> Cost:
    """Run a command and look at all its processes while it runs."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:  # a pipe that nobody reads would stop who fills it
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        cpu_s, peak = followed(process)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{said.read()}")
    return Cost(time.monotonic() - started, cpu_s, peak)


def followed(process: subprocess.Popen[Any]) -> tuple[float, int]:
    """Look at a process until it ends: seconds of CPU and peak bytes of memory of it and all below it."""
    ticks: dict[int, int] = {}
    peak = 0
    while process.poll() is None:
        found = list(family(process.pid))
        ticks.update({pid: used for pid, used, _ in found})
        peak = max(peak, sum(size for _, _, size in found))
        time.sleep(POLL_S)
    return sum(ticks.values()) / TICKS, peak


def family(root: int) -> Iterator[tuple[int, int, int]]:
    """(process, CPU ticks, resident bytes not shared with files) of a process and all below it."""
    stats = {int(entry.name): _stat(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    known: set[int] = set()
    more = {root}
    while more:
        known |= more
        more = {pid for pid, (parent, _, _) in stats.items() if parent in known} - known
    yield from ((pid, *stats[pid][1:]) for pid in known if pid in stats)


def _stat(entry: Path) -> tuple[int, int, int]:
    """(parent, CPU ticks, resident bytes); proc(5)."""
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
        _, resident, shared, *_ = map(int, (entry / "statm").read_text().split())
    except OSError:  # it ended while we looked
        return -1, 0, 0
    return int(fields[1]), int(fields[11]) + int(fields[12]), (resident - shared) * PAGE


def told(log: Path) -> tuple[float, int]:
    """Seconds in which any stage ran, and bytes written to shuffles, by Spark's event log."""
    spans, shuffled = [], 0
    for path in log.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerStageCompleted":
                info = event["Stage Info"]
                spans.append((info["Submission Time"], info["Completion Time"]))
            elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                shuffled += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return (max(end for _, end in spans) - min(start for start, _ in spans)) / 1000, shuffled


def show(size: str, how: str, cost: Cost, more: str = "") -> None:
    """One line."""
    print(
        f"{size:>9} {how:16} {cost.seconds:7.1f}s {cost.cpu:7.1f}s {cost.peak / 1e6:6.0f}MB {more}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
