"""Taps of TLS engines, of Netty, told where they speak Kafka; and of copies of kafka-clients."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from captures.record import jars, workshop
from captures.record.broker import Cluster
from captures.record.spec import HOST
from kdissect.model.errors import CaptureWarning
from tests.support.console import run
from tests.tap import kafka

pytestmark = pytest.mark.exhaustive  # a broker

BASE = 24500
PROVIDERS = {
    "JDK": "sun.security.ssl.SSLEngineImpl",
    "OPENSSL": "io.netty.handler.ssl.ReferenceCountedOpenSslEngine",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Cluster]:
    """Apache Kafka 4.4."""
    kafka.needs_kafka("broker-4.4.0", "client-4.4.0")
    with kafka.running(kafka.spec("4.4.0"), BASE) as cluster:
        yield cluster


def netty(cluster: Cluster, provider: str, count: int) -> list[str]:
    """Return the command line of a Kafka client that is made of Netty."""
    kafka.needs_kafka("netty")
    target = workshop.folder("classes", "tap", "netty")
    source = kafka.JAVA_DIR / "NettyApp.java"
    workshop.run(["javac", "-nowarn", "-cp", jars.classpath("netty"), "-d", str(target), str(source)])
    port = kafka.secure(cluster).rpartition(":")[2]
    light = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
    classpath = jars.classpath("netty", target)
    return ["java", *light, "-cp", classpath, "NettyApp", HOST, port, provider, str(count)]


@contextlib.contextmanager
def tapped_broker(cluster: Cluster, target: Path) -> Iterator[None]:
    """Record what the broker's own layers read and write meanwhile."""
    tapping = kafka.Tapping(kafka.broker_pid(cluster), "-w", target)
    yield
    tapping.stop()


def with_others(path: Path) -> kafka.Bodies:
    """Return the exchanges of a capture that has other connections, too."""
    with pytest.warns(CaptureWarning, match="are not Kafka: .* HTTP"):
        return kafka.bodies(path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_client_of_netty_from_its_start(broker: Cluster, tmp_path: Path, provider: str) -> None:
    """Byte by byte what the broker reads and writes; what is not Kafka is left alone."""
    at_client, at_broker = tmp_path / "client.pcapng", tmp_path / "broker.pcapng"
    with tapped_broker(broker, at_broker):
        ran = run("tap", "--engines", "-w", at_client, "--", *netty(broker, provider, 60))
    assert ran.code == 0 and "ended with" not in ran.err, ran.err
    client, both = kafka.bodies(at_client), with_others(at_broker)
    assert len(client) == 60 and kafka.whole(client) == client
    assert {key: both.get(key) for key in client} == client
    shown = run("connections", at_client, "--format", "jsonl")
    assert shown.out.count("\n") == 1 and b"GET /kafka" not in at_client.read_bytes()


@pytest.mark.parametrize("provider", ["JDK"])
def test_a_client_of_netty_that_runs(broker: Cluster, tmp_path: Path, provider: str) -> None:
    at_client, at_broker = tmp_path / "client.pcapng", tmp_path / "broker.pcapng"
    application = kafka.Client(netty(broker, provider, 0), lambda _event: None)
    try:
        application.until_read(20)
        plain = run("tap", application.pid, "-w", at_client)
        assert (plain.code, plain.err.count("\n")) == (3, 1) and "--engines" in plain.err
        with tapped_broker(broker, at_broker):
            tapping = kafka.Tapping(application.pid, "--engines", "-w", at_client)
            application.until_read(60)
            assert "kdissect" in kafka.method_bodies(
                application.pid, tmp_path / "during", PROVIDERS[provider]
            )
            tapping.stop()
        assert kafka.until(lambda: not kafka.threads_of(application.pid))
        assert "kdissect" not in kafka.method_bodies(application.pid, tmp_path / "after", PROVIDERS[provider])
        application.until_read(10)
        listed = run("live", "-i", f"tap:{application.pid},engines", "--duration", "2s", "--format", "jsonl")
        assert listed.out.count('"api":"Metadata"') > 3, listed.err
    finally:
        application.kill()
    client, both = kafka.cut_in(at_client), with_others(at_broker)
    assert len(client) >= 50
    assert {key: both.get(key) for key in client} == client
    assert b"GET /kafka" not in at_client.read_bytes()


def test_kafka_clients_are_told_once_where_engines_are_looked_at(broker: Cluster, tmp_path: Path) -> None:
    target = tmp_path / "tap.pcapng"
    line = kafka.line("4.4.0", kafka.secure(broker), "Produce", kafka.tls(), topic="once", count=5)
    assert run("tap", "--engines", "-w", target, "--", *line).code == 0
    found = kafka.bodies(target)
    assert found == kafka.whole(found) and {key[0].host for key in found} == {HOST}
    records = run("records", target, "-Y", "api == Produce", "--format", "jsonl")
    assert records.out.count("\n") == 5


def test_a_copy_of_kafka_clients_in_another_package(broker: Cluster, tmp_path: Path) -> None:
    """As shading makes it: over TLS, from its start, and attached to."""
    line = kafka.line("4.4.0", kafka.secure(broker), "Load", kafka.tls(), topic="moved", rate=100)
    at = line.index("-cp") + 1
    line[at] = kafka.moved(line[at], tmp_path)
    application = kafka.Client(line, lambda _event: None)
    try:
        application.until_read(50)
        tapping = kafka.Tapping(application.pid, "-w", tmp_path / "tap.pcapng")
        application.until_read(100)
        tapping.stop()
        end = application.stop()[-1]
        assert end["errors"] == 0 and end["read"] == end["sent"], end
    finally:
        application.kill()
    assert len(kafka.cut_in(tmp_path / "tap.pcapng")) > 5
