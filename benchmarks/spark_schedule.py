"""A plan for `pipeline run`, checked: its tasks, dealt out to cores, with the bytes that they fetch.

    python benchmarks/spark_schedule.py --bytes 417GB,1250GB --hosts 1,4,24 --cores 8,24 --frames small
    python benchmarks/spark_schedule.py --measure small.pcap     # CPU by what a task makes, for FIGURES

The tasks are those that the product makes of such files (`pipeline.shares`). A task takes the CPU of reading
its capture set and of what it makes, or the time in which its core's share of the network brings the bytes,
whichever is longer; the first one that waits goes to the first core that is free, as Spark deals them out.
Left out: the start, small files that are joined, tasks that are done again.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from traffic.options import parse_size

from kdissect.api import Dissection
from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.inputs import Input, Inputs
from kdissect.pipeline.shares import Share, Task, tasks_of
from kdissect.stages.one_process import Production
from kdissect.stages.per_flow import OF_CONNECTIONS, OF_JUDGES, OF_STATES

MADE = frozenset(TABLES) - {"records"}
TRAFFIC = frozenset({"latencies", "rates", "topics"})
GROUPS = {
    "connections": OF_CONNECTIONS & MADE,
    "judges": OF_JUDGES,
    "traffic": TRAFFIC,
    "states": OF_STATES - TRAFFIC,
}


class Figures(NamedTuple):
    """Seconds of CPU for 100 MB: of reading, and of each of GROUPS beyond that."""

    reading: float
    connections: float
    judges: float
    traffic: float
    states: float


# `--measure` of 106 MB of small frames in all codecs and versions, nothing else running (docs/spark.md).
FIGURES = {"small": Figures(reading=0.15, connections=0.58, judges=1.16, traffic=0.48, states=0.39)}
_MB_100 = 100e6


class Plan(NamedTuple):
    """What lies there, and what takes it. `network` are bytes a second of one executor."""

    size: int
    hosts: int
    cores: int
    file_size: int = 512_000_000
    executor_cores: int = 8
    network: float = 1.25e9


class Outcome(NamedTuple):
    """Tasks, seconds until the last ends, seconds of CPU, bytes that are fetched, share of the cores' time
    that is used.
    """

    tasks: int
    wall_s: float
    cpu_s: float
    fetched: int
    used: float


def inputs_of(plan: Plan) -> Inputs:
    """Return the files of all hosts."""
    count = max(1, round(plan.size / plan.file_size / plan.hosts))
    size = plan.size // (count * plan.hosts)
    files = [
        Input(host * count + number, "", "", host, f"host{host}", size, None, "")
        for host in range(plan.hosts)
        for number in range(count)
    ]
    return Inputs(tuple(files), tuple(f"host{host}" for host in range(plan.hosts)))


def simulated(plan: Plan, figures: Figures) -> Outcome:
    """Return a run: the pass that compares capture sets, if there are several, and then the tasks."""
    inputs = inputs_of(plan)
    sizes = [0] * plan.hosts
    for file in inputs.files:
        sizes[file.capture_set] += file.size or 0
    rate = plan.network / min(plan.executor_cores, plan.cores)
    tasks = tasks_of(inputs, MADE, plan.cores)
    passes: list[list[tuple[float, int]]] = []
    if plan.hosts > 1:
        dealt = [sum(sizes[start :: plan.cores]) for start in range(min(plan.cores, plan.hosts))]
        passes.append([(figures.reading * size / _MB_100, size) for size in dealt])
    passes.append([_cost(task, sizes, figures) for task in tasks])
    wall = sum(_wall(((max(cpu, size / rate)) for cpu, size in some), plan.cores) for some in passes)
    cpu = sum(cpu for some in passes for cpu, _ in some)
    fetched = sum(size for some in passes for _, size in some)
    return Outcome(len(tasks), wall, cpu, fetched, cpu / (wall * plan.cores))


def _cost(task: Task, sizes: Sequence[int], figures: Figures) -> tuple[float, int]:
    """CPU seconds and bytes of a task."""
    parts = [_cost_of_share(share, sizes[share.capture_set], figures) for share in task]
    return sum(cpu for cpu, _ in parts), sum(size for _, size in parts)


def _cost_of_share(share: Share, size: int, figures: Figures) -> tuple[float, int]:
    of_size = figures.reading
    for name, tables in GROUPS.items():
        if share.tables & tables:
            of_size += getattr(figures, name) / (share.shard.of if name == "connections" else 1)
    return of_size * size / _MB_100, size


def _wall(tasks: Iterable[float], cores: int) -> float:
    """Return when the last of some tasks ends, which are begun in this order."""
    free = [0.0] * cores
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def measure(capture: str) -> Figures:
    """By this process, of a capture: what each group takes for 100 MB."""
    size = Path(capture).stat().st_size / _MB_100

    def cpu_of(tables: frozenset[str]) -> float:
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            production = Production(Dissection([capture]), tables)
            for _ in production.while_read():
                pass
            production.judgement()
            for _ in production.rest():
                pass
            best = min(best, time.process_time() - began)
        return best / size

    reading = cpu_of(frozenset())
    return Figures(reading, *(max(0.0, cpu_of(tables) - reading) for tables in GROUPS.values()))


def main(arguments: list[str]) -> int:
    """Print a line for each plan; the exit code."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--bytes", default="417GB,1250GB", help="of a run")
    parser.add_argument("--hosts", default="1,4,24", help="capture sets")
    parser.add_argument("--cores", default="8,24", help="of all executors together")
    parser.add_argument("--frames", choices=sorted(FIGURES), default="small")
    parser.add_argument("--measure", metavar="CAPTURE", help="measure figures instead")
    chosen = parser.parse_args(arguments)
    if chosen.measure:
        print(measure(chosen.measure))
        return 0
    print(" capture hosts cores tasks     wall      CPU  fetched  used")
    for size in chosen.bytes.split(","):
        for hosts in map(int, chosen.hosts.split(",")):
            for cores in map(int, chosen.cores.split(",")):
                found = simulated(Plan(parse_size(size), hosts, cores), FIGURES[chosen.frames])
                print(
                    f"{size:>8} {hosts:5} {cores:5} {found.tasks:5} {found.wall_s / 60:5.0f}min "
                    f"{found.cpu_s / 3600:7.1f}h {found.fetched / 1e9:6.0f}GB {found.used:5.0%}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
