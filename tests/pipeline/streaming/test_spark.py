"""`kdissect pipeline watch` on Spark: once, killed at a moment of a batch, and ended by a signal.

The kill takes the driver, the JVM and all Python workers at once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra spark")

from kdissect.pipeline.sink.table_directory import StreamDirectory
from tests.pipeline.conftest import CHECKOUT, QUICK
from tests.pipeline.streaming.arriving import arrive, assert_equal, cut, packets_of

# Of the whole test, on a machine that does much else.
PATIENCE_S = 900
Moment = Callable[[], bool]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from kdissect.pipeline.spark_session import NoJavaError, find_java

    try:
        find_java()
    except NoJavaError as error:
        pytest.skip(str(error))
    return tmp_path


@pytest.mark.exhaustive
@pytest.mark.rotated(3)  # each takes a minute
@pytest.mark.parametrize("name", ["reading", "mid-batch", "writing"])
def test_a_stream_that_is_killed(name: str, folder: Path) -> None:
    parts = cut(packets_of("mock_rdk216_txn.pcap"), 3)
    arrive(folder / "in", 0, parts[0])
    log = folder / "progress.jsonl"
    once = _started(folder, "--once", "--progress-log", str(log))
    assert once.wait(PATIENCE_S) == 0, (folder / "stderr").read_text()
    assert "batch 0: " in (folder / "stderr").read_text()
    assert [json.loads(line)["batchId"] for line in log.read_text().splitlines()] == [0]
    assert_equal(folder / "tables", [folder / "in"])

    arrive(folder / "in", 1, parts[1])
    spark, ours = folder / "checkpoint" / "spark", folder / "checkpoint" / "kdissect"
    staging = folder / "tables" / "_staging" / "b00000001"
    moments: dict[str, Moment] = {
        "reading": (spark / "offsets" / "1").exists,
        "mid-batch": lambda: any(staging.rglob("*.parquet")),
        "writing": (ours / "sets" / "0000000001.index").exists,
    }
    _killed(_started(folder), moments[name], name, folder)
    assert (spark / "offsets" / "1").exists()
    assert not (spark / "commits" / "1").exists(), f"the batch was over before {name}"

    last = _started(folder)
    _wait(last, lambda: _batch(folder) == 1, "batch 1", folder)
    arrive(folder / "in", 2, parts[2])
    _wait(last, lambda: _batch(folder) == 2, "batch 2", folder)
    last.send_signal(signal.SIGTERM)
    assert last.wait(PATIENCE_S) == 0, (folder / "stderr").read_text()

    assert_equal(folder / "tables", [folder / "in"])
    manifest = json.loads((folder / "tables" / "_kdissect.json").read_text())
    named = {file["path"] for file in (*manifest["files"], *manifest["gone"])}
    there = {str(path.relative_to(folder / "tables")) for path in (folder / "tables").rglob("*.parquet")}
    assert there == named, "orphans"


def _started(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """Return the command, in a session of its own."""
    conf = [part for name, value in QUICK.items() for part in ("--conf", f"{name}={value}")]
    places = ["--output", str(folder / "tables"), "--checkpoint", str(folder / "checkpoint")]
    tables = (
        "files,connections,exchanges,topic_partitions,batches,records,anomalies,findings,coverage,latencies"
    )
    options = ["--tables", f"{tables},rates,topics,groups,producers,transactions", "--settle", "0.2"]
    pace = ["--interval", "1", "--shards", "2", "--master", "local[2]"]
    command = [sys.executable, "-m", "kdissect", "pipeline", "watch", str(folder / "in")]
    with (folder / "stderr").open("ab") as stderr:
        return subprocess.Popen(
            [*command, *places, *options, *pace, *conf, *more],
            stdout=stderr,
            stderr=stderr,
            cwd=CHECKOUT,
            start_new_session=True,
        )


def _killed(process: subprocess.Popen[bytes], moment: Moment, name: str, folder: Path) -> None:
    _wait(process, moment, name, folder, every_s=0.002)
    family = list(_family(process.pid))
    for signal_number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in family:
            try:
                os.kill(pid, signal_number)
            except ProcessLookupError:
                continue
    process.wait()


def _wait(
    process: subprocess.Popen[bytes], moment: Moment, name: str, folder: Path, every_s: float = 0.1
) -> None:
    until = time.monotonic() + PATIENCE_S
    while not moment():
        assert process.poll() is None, f"ended before {name}: {(folder / 'stderr').read_text()}"
        assert time.monotonic() < until, name
        time.sleep(every_s)


def _batch(folder: Path) -> int | None:
    from pyarrow import fs

    return StreamDirectory(fs.LocalFileSystem(), str(folder / "tables")).last_batch()


def _family(root: int) -> Iterator[int]:
    """Yield a process and all below it, by proc(5)."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it ended while we looked
                continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found
