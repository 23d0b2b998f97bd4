"""One Spark for all tests of the session, and captures to run it on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT = Path(__file__).parent.parent.parent
BENCHMARKS = CHECKOUT / "benchmarks"
# One short job after the other: compiling less and one collector take seconds off each start.
QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield an embedded Spark on two cores."""
    pytest.importorskip("pyspark", reason="needs the extra spark")
    from kdissect.pipeline.spark_session import NoJavaError, find_java, open_session

    try:
        os.environ["JAVA_HOME"] = find_java().home
    except NoJavaError as error:
        pytest.skip(str(error))
    session = open_session("local[2]", QUICK)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 20 rotated files whose connections cross their borders, with reordering and loss."""
    folder = tmp_path_factory.mktemp("rotated")
    whole = folder / "whole.pcap"
    options = ["--size", "6MB", "--connections", "30", "--reorder", "1%", "--loss", "0.3%", "--seed", "7"]
    benchmark("generate.py", *options, "-o", str(whole))
    benchmark("rotate.py", str(whole), "--files", "20", "--output", str(folder / "files"))
    return folder / "files"


def benchmark(script: str, *arguments: str) -> None:
    """Run a script of the benchmarks."""
    subprocess.run([sys.executable, str(BENCHMARKS / script), *arguments], check=True, capture_output=True)
