"""Apache Kafka and its clients from Maven Central: named sets of artifacts, each resolved once."""

import os
from pathlib import Path
from xml.sax.saxutils import escape

from captures.record import workshop

KAFKA = "org.apache.kafka"
_LOG4J2 = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5"
_RELOAD4J = "org.slf4j:slf4j-reload4j:1.7.36"
_SILENT = "org.slf4j:slf4j-nop:1.7.36"
_JSON = "com.fasterxml.jackson.core:jackson-databind:2.16.2"  # OAUTHBEARER tokens are made with it

SETS: dict[str, list[str]] = {
    # 4.4.0 stands there without kafka-tools-api, kafka-tools and kafka-streams: those are of 4.3.1.
    "broker-4.4.0": [f"{KAFKA}:kafka_2.13:4.4.0!kafka-tools-api", f"{KAFKA}:kafka-tools-api:4.3.1", _LOG4J2],
    "broker-3.9.2": [f"{KAFKA}:kafka_2.13:3.9.2", _RELOAD4J],
    # Java 11 and newer have no javax.xml.bind of their own.
    "broker-0.11.0.3": [f"{KAFKA}:kafka_2.11:0.11.0.3", "javax.xml.bind:jaxb-api:2.3.1", _RELOAD4J],
    "broker-2.8.2": [f"{KAFKA}:kafka_2.13:2.8.2", _RELOAD4J],
    **{
        f"broker-{old}": [f"{KAFKA}:kafka_2.13:{old}", _RELOAD4J]
        for old in (
            "2.4.1",
            "2.7.2",
            "3.0.2",
            "3.1.2",
            "3.2.3",
            "3.3.2",
            "3.4.1",
            "3.5.2",
            "3.6.2",
            "3.7.2",
            "3.8.1",
        )
    },
    **{
        f"broker-{new}": [f"{KAFKA}:kafka_2.13:{new}", _LOG4J2]
        for new in ("4.0.2", "4.1.2", "4.2.1", "4.3.1")
    },
    "tools-4.4.0": [f"{KAFKA}:kafka-tools:4.3.1", _LOG4J2],
    "tools-3.9.2": [f"{KAFKA}:kafka_2.13:3.9.2", _RELOAD4J],
    "tools-2.8.2": [f"{KAFKA}:kafka_2.13:2.8.2", _RELOAD4J],
    "tools-0.8.2.2": [f"{KAFKA}:kafka_2.11:0.8.2.2", "org.slf4j:slf4j-log4j12:1.7.6"],
    "tools-0.10.2.2": [f"{KAFKA}:kafka_2.11:0.10.2.2"],
    "tools-1.1.1": [f"{KAFKA}:kafka_2.12:1.1.1", _RELOAD4J],
    "streams-4.3.1": [f"{KAFKA}:kafka-streams:4.3.1", _SILENT],
    "streams-0.10.2.2": [f"{KAFKA}:kafka-streams:0.10.2.2"],
    "streams-2.8.2": [f"{KAFKA}:kafka-streams:2.8.2", _SILENT],
    "netty": [
        "io.netty:netty-handler:4.1.118.Final",
        "io.netty:netty-tcnative-boringssl-static:2.0.70.Final",
    ],
    # An agent that writes the key log of a Java process. It asks for the tools.jar of Java 6, which it lacks.
    "key-log": ["name.neykov:extract-tls-secrets:4.0.0!*"],
    "mirror-4.3.1": [f"{KAFKA}:connect-mirror:4.3.1", _LOG4J2],
    "connect-4.3.1": [f"{KAFKA}:connect-runtime:4.3.1", f"{KAFKA}:connect-file:4.3.1", _LOG4J2],
}
"""Artifacts of each set as `group:artifact:version`, with `!artifact` for one left out (`!*`: all)."""


def folder(name: str) -> Path:
    """Return the folder with the jars of a set; `client-VERSION` stands for kafka-clients of that version."""
    artifacts = SETS.get(name) or [f"{KAFKA}:kafka-clients:{name.removeprefix('client-')}", _JSON, _SILENT]
    target = workshop.folder("jars", name)
    done = target / ".complete"
    wanted = "\n".join(artifacts) + "\n"
    if not done.exists() or done.read_text() != wanted:
        _resolve(artifacts, target)
        done.write_text(wanted)
    return target


def classpath(name: str, *more: Path) -> str:
    """Return the class path of a set of jars, further folders first."""
    return os.pathsep.join([*map(str, more), f"{folder(name)}/*"])


def _resolve(artifacts: list[str], target: Path) -> None:
    maven = workshop.program("mvn", "fetch Apache Kafka from Maven Central")
    pom = target / "pom.xml"
    pom.write_text(_pom(artifacts))
    workshop.run(
        [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={target}"], cwd=target
    )


def _pom(artifacts: list[str]) -> str:
    wanted = "".join(_dependency(artifact) for artifact in artifacts)
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>record</groupId><artifactId>record</artifactId>"
        f"<version>1</version><dependencies>{wanted}</dependencies></project>\n"
    )


def _dependency(artifact: str) -> str:
    coordinates, _, left_out = artifact.partition("!")
    group, name, version = map(escape, coordinates.split(":"))
    of = "*" if left_out == "*" else group
    each = f"<exclusion><groupId>{of}</groupId><artifactId>{escape(left_out)}</artifactId></exclusion>"
    exclusion = f"<exclusions>{each}</exclusions>" if left_out else ""
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{exclusion}</dependency>"
    )
