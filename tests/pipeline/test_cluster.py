"""`pipeline run` on a cluster of two workers, from a packed environment; one of them is killed on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra spark")

from kdissect.engine.tables.all_tables import TABLES
from kdissect.model.native import is_compiled
from kdissect.pipeline.spark_session import NoJavaError, find_java
from tests.pipeline.cluster import Cluster, kill, packed_environment, reads_capture
from tests.pipeline.conftest import benchmark
from tests.pipeline.parquet import Rows, of_one_process, of_run
from tests.support.patience import PATIENCE_S

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks for open files in /proc"),
]
_POLL_S = 0.01
MADE = sorted(frozenset(TABLES) - {"records"})


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return files of two hosts, of traffic that the slow path takes seconds for."""
    folder = tmp_path_factory.mktemp("captures")
    whole = folder / "whole.pcap"
    options = ["--size", "1.5MB", "--profile", "small", "--connections", "10", "--reorder", "0.5%"]
    for host in ("1", "2"):
        benchmark("generate.py", *options, "--seed", host, "-o", str(whole))
        place = ["--network", host, "--files", "4", "--output", str(folder / "files" / f"host{host}")]
        benchmark("rotate.py", str(whole), *place)
    return sorted((folder / "files").rglob("*.pcap"))


@pytest.fixture(scope="module")
def one(captures: list[Path]) -> dict[str, Rows]:
    """Return what one process makes of them."""
    return of_one_process(captures)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packed environment."""
    return packed_environment(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield two workers."""
    try:
        java = find_java().home
    except NoJavaError as error:
        pytest.skip(str(error))
    with Cluster(tmp_path_factory.mktemp("cluster"), java) as running:
        yield running


@pytest.mark.rotated(3)  # each takes a minute or two
@pytest.mark.parametrize("moment", ["reading", "analysing", "writing"])
def test_a_worker_that_is_killed_changes_nothing(
    moment: str,
    cluster: Cluster,
    archive: Path,
    captures: list[Path],
    one: dict[str, Rows],
    tmp_path: Path,
) -> None:
    cluster.fill()
    output = tmp_path / "out"
    conf = {
        "spark.archives": f"{archive}#env",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    command = [
        sys.executable,
        "-m",
        "kdissect",
        "pipeline",
        "run",
        *map(str, captures),
        "--tables",
        ",".join(MADE),
        "--output",
        str(output),
    ]
    command += ["--master", cluster.url, *(f"--conf={name}={value}" for name, value in conf.items())]
    environment = os.environ | {"PYSPARK_PYTHON": "./env/bin/python"}
    said = tmp_path / "said"
    with said.open("w") as stream:
        running = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=stream
        )
        try:
            killed = _kill_at(moment, cluster, running, output)
            assert running.wait(PATIENCE_S) == 0, said.read_text()
        finally:
            running.kill()
    for table in MADE:
        assert of_run(output, table) == one[table], table
    told = [line for line in said.read_text().splitlines() if "compiled part" in line]
    assert len(told) == 1 if is_compiled else len(told) <= 1
    if not killed:
        pytest.skip("the run was over before the moment to kill a worker came")


def _has_parquet(folder: Path) -> bool:
    # Not `rglob`: a task that ends removes folders meanwhile.
    return any(name.endswith(".parquet") for _, _, names in os.walk(folder) for name in names)


def _kill_at(moment: str, cluster: Cluster, running: subprocess.Popen[bytes], output: Path) -> bool:
    """Kill a worker when the moment has come; whether it came before the run was over.

    Captures are read in two passes: to compare the sets, and to analyse them.
    """
    passes, was_open = 0, False
    until = time.monotonic() + PATIENCE_S
    while running.poll() is None and time.monotonic() < until:
        reading = [worker for worker in cluster.workers if reads_capture(worker.pid)]
        passes += bool(reading) and not was_open
        was_open = bool(reading)
        is_written = _has_parquet(output / "_staging")
        if moment == "writing":
            if is_written:
                kill(cluster.workers[0].pid)
                return True
        elif reading and passes == (1 if moment == "reading" else 2):
            kill(reading[0].pid)
            return True
        time.sleep(_POLL_S)
    return False
