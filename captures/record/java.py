"""The drivers of the Java clients, compiled per version of kafka-clients from the sources it can compile."""

import hashlib
import os
from pathlib import Path

from captures.record import jars, workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "java"
_TIERS = {
    "oldest": (0, 8),
    "basic": (0, 9),
    "txn": (0, 11),
    "admin": (1, 0),
    "admin2": (2, 7),
    "share": (4, 0),
    "modern": (4, 4),
}
"""Source folder: the oldest kafka-clients it compiles against."""
_OPENED = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]


def java(version: str = "4.4.0") -> Driver:
    """Return the driver of one version of the Java client."""
    return _driver("kafka-clients (Java)", version, f"client-{version}", _tiers(version))


def streams(version: str = "4.3.1") -> Driver:
    """Return the driver of Kafka Streams."""
    last = "streams010" if version.startswith("0.10") else "streams"
    tiers = ["oldest", "basic", last, *(["streams4"] if version.startswith("4.") else [])]
    return _driver("Kafka Streams (Java)", version, f"streams-{version}", tiers)


def tools(version: str) -> Driver:
    """Return the driver of the command line tools of an old broker version."""
    folder = "tools08" if version.startswith("0.8") else "tools"
    return _driver("kafka tools", version, f"tools-{version}", ["oldest", folder])


def extensions() -> Path:
    """Classes a broker loads: the receiver of client telemetry (KIP-714)."""
    return _compile("client-4.4.0", ["broker"])


def configs(library: str) -> list[str]:
    """Return the command that prints the names of configs in a set of jars, its last argument."""
    classes = _compile(library, ["configs"])
    return [
        workshop.program("java", "ask for configs"),
        "-cp",
        jars.classpath(library, classes),
        "ConfigNames",
    ]


def _tiers(version: str) -> list[str]:
    number = tuple(int(part) for part in version.split(".")[:2])
    return [tier for tier, oldest in _TIERS.items() if number >= oldest]


def _driver(name: str, version: str, library: str, tiers: list[str]) -> Driver:
    classes = _compile(library, tiers)
    program = workshop.program("java", "run the Java clients")
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *_OPENED]
    return Driver(name, version, [program, *options, "-cp", jars.classpath(library, classes), "Driver"])


def _compile(library: str, tiers: list[str]) -> Path:
    sources = sorted(path for tier in tiers for path in (_SOURCES / tier).glob("*.java"))
    mark = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    target = workshop.folder("classes", library, "-".join(tiers))
    done = target / ".sources"
    if not done.exists() or done.read_text() != mark:
        compiler = workshop.program("javac", "compile the drivers of the Java clients")
        command = [
            compiler,
            "-nowarn",
            "-Xlint:none",
            "-proc:none",
            "-d",
            str(target),
            "-cp",
            jars.classpath(library),
        ]
        workshop.run([*command, *map(str, sources)], cwd=Path(os.sep))
        done.write_text(mark)
    return target
