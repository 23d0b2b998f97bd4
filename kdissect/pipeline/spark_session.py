"""A Spark session: embedded, on a cluster, or over Spark Connect.

What is set here is what kdissect needs or what was measured to matter; what the user sets has the last word.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import kdissect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
CONNECT = "sc://"
# Rows of a run are 64 KiB each: 256 of them are 16 MiB on their way to Python, where Spark's 10,000 are 640.
BATCH_ROWS = 256

# Of every session that is opened here.
_ALWAYS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    # Spark refuses a source that takes filters without it.
    "spark.sql.python.filterPushdown.enabled": "true",
    # The number of partitions is known here. One job for each run of stages also tells how far it is.
    "spark.sql.adaptive.enabled": "false",
    # A crash of a Python worker says where.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
# Of those that are not a client's of a server, which has its own.
_NOT_CONNECT = {"spark.python.worker.faulthandler.enabled": "true"}
# Of an embedded one.
_EMBEDDED = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
}

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Spark's own settings tell where they stand and what they warn of before any level can be set.
_QUIET = f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}"


def open_session(
    master: str = LOCAL, conf: Mapping[str, str] | None = None, app: str = "kdissect"
) -> SparkSession:
    """A session on a master, `sc://HOST:PORT` for Spark Connect.

    For an embedded one Java must be known before: see `java.find_java`. Raises what Spark raises.
    """
    embedded, connects = master.startswith("local"), master.startswith(CONNECT)
    if embedded:
        _prepare()
    from pyspark.sql import SparkSession  # an extra

    builder = SparkSession.builder.appName(app)
    builder = builder.remote(master) if connects else builder.master(master)
    wanted = _ALWAYS | ({} if connects else _NOT_CONNECT) | (_EMBEDDED if embedded else {}) | dict(conf or {})
    if embedded:
        wanted[_JAVA_OPTIONS] = f"{_QUIET} {wanted.get(_JAVA_OPTIONS, '')}".strip()
    for name, value in wanted.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if embedded:
        session.sparkContext.setLogLevel("ERROR")
    return session


def _prepare() -> None:
    """The environment of the JVM and of Python workers, which inherit it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run from a checkout, kdissect is found because of the current directory, which workers do not share.
    place = str(Path(kdissect.__file__).parent.parent)
    known = os.environ.get("PYTHONPATH", "")
    if place not in known.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (place, known)))
