"""What a stream of rotated files costs: time, state and memory, batch by batch.

    python benchmarks/spark_watch.py --size 200MB --files 100 --batch 5 --work growth
    python benchmarks/spark_watch.py --here --profile small --size 10MB --files 10 --batch 1 --connections 6 \
        --silent 0,10000,50000 --work growth

Makes a synthetic capture and cuts it into files (generate.py, rotate.py), lets `pipeline watch --once` catch
up with them, and prints a line for each batch and one for all. With `--silent` a file stands before them in
which so many connections are opened and fall silent; what comes behind it is the same for all of the numbers.
`--arriving`: the files of a batch come when the one before is through, and each batch has caught up.
`--here` runs the batches in this process, without Spark, each when its files have come: what a batch costs
beside Spark, with the bytes of state that it reads and writes. Reported, never asserted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from spark_growth import TICKS, family, followed

HERE = Path(__file__).parent
_STEM = "whole"
_LOOK_S = 0.2


def main(arguments: list[str]) -> int:
    """Measure; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="200MB")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--batch", type=int, default=5, help="files of a micro-batch")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--silent", default="0", help="silent open connections beside them: 0,10000")
    parser.add_argument("--profile", default="mtu")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--tables", default="")
    parser.add_argument("--arriving", action="store_true", help="files come when the batch before is through")
    parser.add_argument("--here", action="store_true", help="in this process, without Spark")
    parser.add_argument("--work", type=Path, required=True, help="folder for captures and tables")
    chosen = parser.parse_args(arguments)
    median: dict[int, float] = {}
    for silent in map(int, chosen.silent.split(",")):
        captures = rotated(chosen, silent)
        for name in ("tables", "checkpoint"):
            shutil.rmtree(chosen.work / name, ignore_errors=True)
        print(f"{silent:,} silent open connections")
        run = batches_here if chosen.here else batches_arriving if chosen.arriving else batches_on_spark
        median[silent] = run(chosen, captures)
    for silent, seconds in median.items():
        ratio = seconds / next(iter(median.values()))
        told = f"half of the last batches took {seconds:.2f} s or less, {ratio:.2f} of the first"
        print(f"{silent:,} silent open connections: {told}")
    return 0


def batches_on_spark(chosen: argparse.Namespace, captures: Path) -> float:
    """Run the command; seconds of a batch."""
    log = chosen.work / "progress.jsonl"
    log.unlink(missing_ok=True)
    seconds, cpu, peak = watched(command(chosen, captures, log))
    batches = [json.loads(line) for line in log.read_text().splitlines()]
    print(f"{'batch':>5} {'trigger':>8} {'planning':>9} {'state rows':>10} {'state bytes':>12}")
    for batch in batches:
        print(line_of(batch))
    size = sum(path.stat().st_size for path in captures.iterdir())
    manifest = json.loads((chosen.work / "tables" / "_kdissect.json").read_text())
    rows = sum(file["rows"] for file in manifest["files"])
    print(
        f"{chosen.files} files, {size / 1e6:.0f} MB: {seconds:.1f} s, {cpu:.1f} s of CPU, "
        f"{peak / 1e6:.0f} MB of memory, {rows:,} rows, {rows / seconds:,.0f} rows a second, "
        f"{size / seconds / 1e6:.2f} MB a second"
    )
    return statistics.median(steady([batch["durationMs"]["triggerExecution"] / 1000 for batch in batches]))


def batches_arriving(chosen: argparse.Namespace, captures: Path) -> float:
    """Run the command, whose files come batch by batch; seconds of a batch."""
    log = chosen.work / "progress.jsonl"
    log.write_text("")
    there = emptied(chosen.work / "in")
    used: list[float] = []
    print(f"{'batch':>5} {'seconds':>8} {'CPU':>8} {'state rows':>10}")
    with subprocess.Popen(command(chosen, there, log)) as process:
        ticks = Ticks(process.pid)
        for number, some in enumerate(in_batches(captures, chosen.batch), 1):
            before = ticks.seconds()
            for path in some:
                (there / path.name).hardlink_to(path)
            while len(lines := log.read_text().splitlines()) < number:
                if process.poll() is not None:
                    raise SystemExit(f"pipeline watch ended with {process.returncode}")
                ticks.look()
                time.sleep(_LOOK_S)
            told = json.loads(lines[-1])
            seconds = told["durationMs"]["triggerExecution"] / 1000
            rows = told["stateOperators"][0]["numRowsTotal"]
            print(
                f"{told['batchId']:5} {seconds:7.2f}s {ticks.seconds() - before:7.2f}s {rows:10,}", flush=True
            )
            used.append(seconds)
        process.send_signal(signal.SIGTERM)
        process.wait()
    return statistics.median(steady(used))


class Ticks:
    """Seconds of CPU of a process and of all below it."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._ticks: dict[int, int] = {}

    def look(self) -> None:
        """See what runs: what ends before it is seen again counts as it was."""
        self._ticks |= {pid: used for pid, used, _, _ in family(self._process)}

    def seconds(self) -> float:
        """Up to now."""
        self.look()
        return sum(self._ticks.values()) / TICKS


def emptied(folder: Path) -> Path:
    """Return a folder with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def batches_here(chosen: argparse.Namespace, captures: Path) -> float:
    """Run the batches as tests do; seconds of CPU of one."""
    sys.path.insert(0, str(HERE.parent))
    # Imported here: with Spark nobody needs them.
    from kdissect.capture.filesystems import filesystem_of
    from tests.pipeline.streaming.drive import ALL, Stream, settings_of

    tables = frozenset(chosen.tables.split(",")) if chosen.tables else ALL - {"records"}
    there = emptied(chosen.work / "in")
    stream = Stream(settings_of(chosen.work, there, tables=tables))
    used: list[float] = []
    titles = f"{'batch':>5} {'seconds':>8} {'CPU':>8} {'flows':>7}"
    print(f"{titles} {'state read':>11} {'written':>11} {'tables':>11}")
    with counted_files(filesystem_of(stream.settings.own)[1]) as counts:
        for some in in_batches(captures, chosen.batch):
            for path in some:
                (there / path.name).hardlink_to(path)
            stores = Counter({"read": sum(store.bytes_read for store in stream.stores.values())})
            stores["written"] = sum(store.bytes_written for store in stream.stores.values())
            counts.clear()
            started, cpu = time.monotonic(), time.process_time()
            done = stream.step()
            assert done is not None, some
            seconds, cpu = time.monotonic() - started, time.process_time() - cpu
            counts["read"] += sum(store.bytes_read for store in stream.stores.values()) - stores["read"]
            counts["written"] += (
                sum(store.bytes_written for store in stream.stores.values()) - stores["written"]
            )
            made = sum(entry.bytes for entry in stream.directory.entries() if entry.batch == done.batch)
            used.append(cpu)
            print(
                f"{done.batch:5} {seconds:7.2f}s {cpu:7.2f}s {done.flows:7,} {counts['read']:11,}"
                f" {counts['written']:11,} {made:11,}"
            )
    return statistics.median(steady(used))


def in_batches(captures: Path, size: int) -> Iterator[list[Path]]:
    """Yield the files as they arrive: so many at a time."""
    paths = sorted(captures.iterdir(), key=lambda path: int(path.suffix.removeprefix(".pcap") or 0))
    for first in range(0, len(paths), size):
        yield paths[first : first + size]


def steady(seconds: list[float]) -> list[float]:
    """Return those of the second half: connections are open, caches are warm."""
    return seconds[len(seconds) // 2 :]


@contextmanager
def counted_files(checkpoint: str) -> Iterator[Counter[str]]:
    """Count bytes of the checkpoint's own files while the block reads and writes them."""
    from kdissect.pipeline.table_files import whole_object

    counts: Counter[str] = Counter()
    read, write = whole_object._read, whole_object._write  # noqa: SLF001  all goes through these two

    def counting_read(filesystem: Any, path: str) -> bytes:
        content = read(filesystem, path)
        counts["read"] += len(content) if path.startswith(checkpoint) else 0
        return content

    def counting_write(filesystem: Any, path: str, content: bytes) -> None:
        counts["written"] += len(content) if path.startswith(checkpoint) else 0
        write(filesystem, path, content)

    with patch.multiple(whole_object, _read=counting_read, _write=counting_write):
        yield counts


def rotated(chosen: argparse.Namespace, silent: int) -> Path:
    """Return the folder of files, made when it is not there."""
    folder: Path = chosen.work / f"{chosen.profile}-{chosen.size}-{chosen.files}-{silent}"
    if not folder.is_dir():
        chosen.work.mkdir(parents=True, exist_ok=True)
        whole = chosen.work / f"{_STEM}.pcap"
        profile = ["--profile", chosen.profile]
        generate(
            *profile,
            "--size",
            chosen.size,
            "--connections",
            str(chosen.connections),
            "--reorder",
            "0.1%",
            output=whole,
        )
        cut = ["--files", str(chosen.files), "--output", str(folder)]
        run = [sys.executable, str(HERE / "rotate.py"), str(whole), *cut]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        whole.unlink()
        if silent:
            for number in reversed(range(len(list(folder.iterdir())))):
                (folder / f"{_STEM}.pcap{number or ''}").rename(folder / f"{_STEM}.pcap{number + 1}")
            generate(*profile, "--silent", str(silent), output=folder / f"{_STEM}.pcap")
    return folder


def generate(*options: str, output: Path) -> None:
    """Make a capture."""
    run = [sys.executable, str(HERE / "generate.py"), *options, "-o", str(output)]
    subprocess.run(run, check=True, stderr=subprocess.DEVNULL)


def command(chosen: argparse.Namespace, captures: Path, log: Path) -> list[str]:
    """Return the command of a stream that catches up."""
    places = ["--output", str(chosen.work / "tables"), "--checkpoint", str(chosen.work / "checkpoint")]
    pace = ["--max-files", str(chosen.batch), "--settle", "0.1", "--progress-log", str(log)]
    pace += ["--interval", "1"] if chosen.arriving else ["--once"]
    more = ["--tables", chosen.tables] if chosen.tables else []
    start = [sys.executable, "-m", "kdissect", "pipeline", "watch", str(captures)]
    return [*start, *places, *pace, *more, "--master", f"local[{chosen.cores}]"]


def watched(command: list[str]) -> tuple[float, float, int]:
    """Run a command; seconds, seconds of CPU, and peak bytes of memory of all its processes."""
    started = time.monotonic()
    with subprocess.Popen(command) as process:
        cpu_s, peak, _, _ = followed(process)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.monotonic() - started, cpu_s, peak


def line_of(batch: dict[str, Any]) -> str:
    """Return a batch from Spark's progress report."""
    times = batch["durationMs"]
    state = batch["stateOperators"][0]
    stored = state["customMetrics"].get("rocksdbSstFileSize", 0)
    return (
        f"{batch['batchId']:5} {times['triggerExecution'] / 1000:7.1f}s {times['queryPlanning'] / 1000:8.1f}s"
        f" {state['numRowsTotal']:10,} {stored:12,}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
