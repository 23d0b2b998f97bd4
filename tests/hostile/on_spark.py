"""The hostile set through Spark: `python -m tests.hostile.on_spark FOLDER`.

`kdissect pipeline run` and `kdissect tables` over the whole set; every row of every table must be the same.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

from kdissect.engine.tables.all_tables import TABLES
from tests.hostile.files import write
from tests.pipeline.parquet import of_run

RECORDS = ",".join(TABLES)  # `records`, which is not made unless it is named, too
COMMANDS = {
    "tables": ["tables", "--tables", RECORDS],
    "pipeline": ["pipeline", "run", "--tables", RECORDS, "--conf", "spark.driver.memory=1g"],
}
UNREADABLE = 3  # exit code: the set has files that are no captures


def main(folder: Path) -> int:
    """Run both, compare; 1 if anything differs."""
    files = folder / "set"
    write(files)
    for name, words in COMMANDS.items():
        begin = time.monotonic()
        whole = [*words, *map(str, sorted(files.iterdir())), "--output", str(folder / name), "--overwrite"]
        ran = subprocess.run(
            [sys.executable, "-m", "kdissect", *whole],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        print(f"{name}: exit code {ran.returncode}, {time.monotonic() - begin:.0f} s", flush=True)
        if ran.returncode != UNREADABLE or "Traceback" in ran.stderr:
            print(ran.stderr[-3000:])
            return 1
    different = [table for table in TABLES if not _same(folder, table)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"tables that differ: {', '.join(different) or 'none'}; peak memory of a process {peak} MB")
    return 1 if different else 0


def _same(folder: Path, table: str) -> bool:
    one, spark = of_run(folder / "tables", table), of_run(folder / "pipeline", table)
    print(f"  {table}: {len(one)} rows", flush=True)
    for left, right in zip(one, spark, strict=False):
        if repr(left) != repr(right):  # a metric that is not a number equals itself
            print(f"  {left}\n  {right}"[:2000])
            return False
    return len(one) == len(spark)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
