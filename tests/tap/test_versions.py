"""Taps of Java clients from 0.10 to 4.4 and brokers from 2.8 to 4.4, on the Java releases that are here."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from captures.record.broker import Cluster
from tests.support.console import run
from tests.tap import kafka

BASE = 24400
CLIENTS = ["0.10.2.2", "1.1.1", "2.8.2", "3.9.2", "4.4.0"]
# Programs called java beside the one on the path: `KDISSECT_TAP_JAVAS=/a/bin/java:/b/bin/java`.
JAVAS = ["java", *filter(None, os.environ.get("KDISSECT_TAP_JAVAS", "").split(os.pathsep))]


@pytest.fixture(scope="module")
def broker() -> Iterator[Cluster]:
    """Apache Kafka 3.9, which serves clients of all these versions."""
    kafka.needs_kafka("broker-3.9.2", *(f"client-{version}" for version in CLIENTS))
    with kafka.running(kafka.spec("3.9.2"), BASE) as cluster:
        yield cluster


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", JAVAS)
@pytest.mark.parametrize("version", CLIENTS)
def test_a_client_and_its_broker_say_the_same(
    broker: Cluster, tmp_path: Path, version: str, program: str
) -> None:
    """Over TLS: what the client's JVM sent and read is what the broker's read and sent."""
    topic = f"t{version}.{JAVAS.index(program)}"
    at_broker, at_client = tmp_path / "broker.pcapng", tmp_path / "client.pcapng"
    tapping = kafka.Tapping(kafka.broker_pid(broker), "-w", at_broker)
    line = kafka.line(
        version, kafka.secure(broker), "Produce", kafka.tls(), program=program, topic=topic, count=20
    )
    ran = run("tap", "-w", at_client, "--", *line)
    tapping.stop()
    assert ran.code == 0 and "ended with" not in ran.err, ran.err
    client, both = kafka.bodies(at_client), kafka.bodies(at_broker)
    assert len(client) > 3 and kafka.whole(client) == client
    assert {key: both.get(key) for key in client} == client
    shown = run("records", at_client, "-Y", "api == Produce", "--format", "jsonl")
    assert shown.out.count("\n") == 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", JAVAS)
def test_attached_to_an_application_that_runs(broker: Cluster, tmp_path: Path, program: str) -> None:
    options = {"program": program, "topic": f"runs{JAVAS.index(program)}", "rate": 200}
    application = kafka.client("2.8.2", kafka.secure(broker), "Load", kafka.tls(), **options)
    try:
        application.until_read(100)
        for turn in range(2):
            tapping = kafka.Tapping(application.pid, "-w", tmp_path / f"{turn}.pcapng")
            application.until_read(400)
            tapping.stop()
            assert len(kafka.cut_in(tmp_path / f"{turn}.pcapng")) > 5
            assert kafka.until(lambda: not kafka.threads_of(application.pid))
        end = application.stop()[-1]
        assert end["errors"] == 0 and end["sent"] == end["read"], end
    finally:
        application.kill()


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", ["2.8.2", "4.4.0"])
def test_brokers_of_other_releases(tmp_path: Path, version: str) -> None:
    kafka.needs_kafka(f"broker-{version}", "client-2.8.2")
    tap = tmp_path / "broker.pcapng"
    with kafka.running(kafka.spec(version), BASE + 100) as cluster:
        tapping = kafka.Tapping(kafka.broker_pid(cluster), "-w", tap)
        where = kafka.secure(cluster)
        sent = kafka.client("2.8.2", where, "Produce", kafka.tls(), topic="t", count=20).wait()
        read = kafka.client("2.8.2", where, "Consume", kafka.tls(), topic="t", count=20).wait()
        tapping.stop()
    assert len(sent) == len(read) == 20
    shown = run("records", tap, "-Y", "api == Produce", "--format", "jsonl")
    assert shown.out.count("\n") == 20
    fetched = run(
        "records", tap, "-Y", "api == Fetch", "--format", "jsonl", "--only-port", where.rpartition(":")[2]
    )
    assert fetched.out.count("\n") >= 20
