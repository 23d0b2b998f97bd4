"""What a stream of rotated files costs: time, state and memory, batch by batch.

    python benchmarks/spark_watch.py --size 200MB --files 100 --batch 5 --work growth

Makes a synthetic capture and cuts it into files (generate.py, rotate.py), lets `pipeline watch --once` catch
up with them, and prints a line for each batch and one for all. Reported, never asserted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from spark_growth import followed

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Measure; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="200MB")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--batch", type=int, default=5, help="files of a micro-batch")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--profile", default="mtu")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--tables", default="")
    parser.add_argument("--work", type=Path, required=True, help="folder for captures and tables")
    chosen = parser.parse_args(arguments)
    captures = rotated(chosen)
    for name in ("tables", "checkpoint"):
        shutil.rmtree(chosen.work / name, ignore_errors=True)
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
    return 0


def rotated(chosen: argparse.Namespace) -> Path:
    """The folder of files, made when it is not there."""
    folder: Path = chosen.work / f"{chosen.profile}-{chosen.size}-{chosen.files}"
    if not folder.is_dir():
        chosen.work.mkdir(parents=True, exist_ok=True)
        whole = chosen.work / "whole.pcap"
        shape = ["--size", chosen.size, "--profile", chosen.profile, "--connections", str(chosen.connections)]
        run = [sys.executable, str(HERE / "generate.py"), *shape, "--reorder", "0.1%", "-o", str(whole)]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        cut = ["--files", str(chosen.files), "--output", str(folder)]
        run = [sys.executable, str(HERE / "rotate.py"), str(whole), *cut]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        whole.unlink()
    return folder


def command(chosen: argparse.Namespace, captures: Path, log: Path) -> list[str]:
    """The command of a stream that catches up."""
    places = ["--output", str(chosen.work / "tables"), "--checkpoint", str(chosen.work / "checkpoint")]
    pace = ["--once", "--max-files", str(chosen.batch), "--settle", "0.1", "--progress-log", str(log)]
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
    """A batch as Spark told it."""
    times = batch["durationMs"]
    state = batch["stateOperators"][0]
    stored = state["customMetrics"].get("rocksdbSstFileSize", 0)
    return (
        f"{batch['batchId']:5} {times['triggerExecution'] / 1000:7.1f}s {times['queryPlanning'] / 1000:8.1f}s"
        f" {state['numRowsTotal']:10,} {stored:12,}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
