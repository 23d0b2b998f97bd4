"""Taps of real brokers and Java clients: the same exchanges as from packets, and nothing left behind."""

import dataclasses
import json
import os
import shlex
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

import kdissect
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.sniffer import Sniffer
from captures.record.spec import HOST, TLS13, TLS13_PLAIN, USERS
from captures.record.tlsproxy import TlsProxy
from kdissect.model.errors import CaptureWarning
from kdissect.tap import tap_source
from tests.support.console import CHECKOUT, command, run
from tests.tap import kafka

pytestmark = pytest.mark.exhaustive  # a broker, and two minutes

BASE = 24300
SSL_LAYER = "org.apache.kafka.common.network.SslTransportLayer"
SASL_PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="alice" password="{USERS["alice"]}";'
    ),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Cluster]:
    """Apache Kafka 4.4."""
    kafka.needs_kafka("broker-4.4.0", "client-4.4.0")
    with kafka.running(kafka.spec("4.4.0"), BASE) as cluster:
        yield cluster


@contextmanager
def sniffing(cluster: Cluster, target: Path) -> Iterator[None]:
    """Capture what clients send and receive."""
    sniffer = Sniffer(cluster.ports("clients"), target.with_suffix(".raw"))
    try:
        sniffer.start()
    except (RuntimeError, workshop.MissingProgramError) as problem:
        pytest.skip(str(problem))
    yield
    sniffer.stop(target)
    if not target.exists():  # large ones are kept compressed
        target.with_name(f"{target.name}.gz").rename(target)


@contextmanager
def loaded(where: str, topic: str, **options: object) -> Iterator[kafka.Client]:
    """Run an application that writes and reads all the time over TLS, and must have no error."""
    application = kafka.client("4.4.0", where, "Load", kafka.tls(), topic=topic, **options)
    try:
        application.until_read(100)
        yield application
        end = application.stop()[-1]
    finally:
        application.kill()
    assert end["event"] == "end" and end["errors"] == 0, end
    assert end["sent"] == end["acknowledged"] == end["read"] > 0


def tapped_from_the_start(where: str, topic: str, properties: dict[str, str], target: Path) -> kafka.Bodies:
    """Return a producer, and a consumer of a group, each tapped from its start."""
    paths = []
    for action, options in (("Produce", {}), ("Consume", {"group": f"g-{topic}", "commit": "true"})):
        path = target.with_suffix(f".{action}.pcapng")
        driver = kafka.line("4.4.0", where, action, properties, topic=topic, count=5, **options)
        ran = run("tap", "-w", path, "--", *driver)
        assert ran.code == 0 and "ended with" not in ran.err, ran.err
        assert path.stat().st_mode & 0o777 == 0o600
        paths.append(path)
    found = kafka.bodies(paths)
    assert len(found) > 10
    return found


@pytest.mark.parametrize("kind", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_a_client_says_what_its_packets_say(broker: Cluster, tmp_path: Path, kind: str) -> None:
    where, properties = (broker.sasl, SASL_PLAIN) if kind.startswith("SASL") else (broker.bootstrap, {})
    with sniffing(broker, tmp_path / "packets.pcapng"):
        tapped = tapped_from_the_start(where, kind.lower(), properties, tmp_path / "tap")
    assert tapped == kafka.bodies(tmp_path / "packets.pcapng")


def test_a_tls_client_says_what_its_packets_say_with_their_key_log(broker: Cluster, tmp_path: Path) -> None:
    node = broker.nodes[0]
    proxy = TlsProxy(ssl.TLSVersion.TLSv1_3, node.port(TLS13), node.port(TLS13_PLAIN), tmp_path / "keys")
    with sniffing(broker, tmp_path / "packets.pcapng"):
        tapped = tapped_from_the_start(
            f"{HOST}:{node.port(TLS13)}", "tls", kafka.tls("server"), tmp_path / "tap"
        )
    proxy.close()
    assert tapped == kafka.bodies(tmp_path / "packets.pcapng", tmp_path / "keys", port=node.port(TLS13))


def test_a_broker_says_what_packets_of_its_plain_listener_say(broker: Cluster, tmp_path: Path) -> None:
    """With the gathering writes of responses, and records that go from files to sockets."""
    tap = tmp_path / "tap.pcapng"
    with sniffing(broker, tmp_path / "packets.pcapng"):
        tapping = kafka.Tapping(kafka.broker_pid(broker), "-w", tap)
        kafka.client("4.4.0", broker.bootstrap, "Produce", topic="files", count=200, size=3000).wait()
        kafka.client("4.4.0", broker.bootstrap, "Consume", topic="files", count=200).wait()
        time.sleep(1)
        tapping.stop()
    port = broker.nodes[0].port(2)
    tapped, packets = kafka.bodies(tap, port=port), kafka.bodies(tmp_path / "packets.pcapng", port=port)
    assert len(packets) > 10 and sum(len(response or b"") for _, response in packets.values()) > 600_000
    assert tapped == packets


ANSWERED_S = 2.0  # in which a request that waits for nothing is answered, on a machine that is busy


def test_attached_in_the_middle_of_tls_connections(broker: Cluster, tmp_path: Path) -> None:
    """Client and broker see the same, from where both look."""
    client_side, broker_side = tmp_path / "client.pcapng", tmp_path / "broker.pcapng"
    with loaded(kafka.secure(broker), "middle", rate=200) as application:
        of_broker = kafka.Tapping(kafka.broker_pid(broker), "-w", broker_side)
        time.sleep(0.5)
        of_client = kafka.Tapping(application.pid, "-w", client_side)
        application.until_read(300)
        of_client.stop()
        time.sleep(0.5)
        of_broker.stop()
    client, broker_ = kafka.cut_in(client_side), kafka.cut_in(broker_side)
    assert len(client) > 20
    assert {key: broker_.get(key) for key in client} == client
    listed = run("records", client_side, "--format", "jsonl")
    assert listed.code == 0 and listed.out.count("\n") > 200


def test_attached_in_the_middle_is_what_the_broker_logs(tmp_path: Path) -> None:
    """Of each connection every request that begins after the tap is in it, and nothing that is not logged.

    A request is logged when it is answered, and may have begun before.
    """
    kafka.needs_kafka("broker-4.4.0", "client-4.4.0")
    target = tmp_path / "tap.pcapng"
    spec = dataclasses.replace(kafka.spec("4.4.0"), request_log=True)
    with kafka.running(spec, BASE + 100) as cluster:
        with loaded(kafka.secure(cluster), "logged", rate=100) as application:
            tapping = kafka.Tapping(kafka.broker_pid(cluster), "-w", target)
            begun = time.time()
            application.until_read(300)
            ended = time.time()
            tapping.stop()
        logged = requests_of(cluster.request_log(1))
    tapped: dict[str, list[tuple[object, ...]]] = {}
    for each in kdissect.open(str(target)):
        if each.request is not None and each.kind == "kafka":
            ends = f"{each.connection.broker.host}:{each.connection.broker.port}-"
            ends += f"{each.connection.client.host}:{each.connection.client.port}"
            fields = each.api_key, each.api_version, each.correlation_id, each.client_id
            tapped.setdefault(ends, []).append(fields)
    # A broker that is its own controller is told as its clients see it: of those that have the same ends.
    compared = 0
    for ends, found in tapped.items():
        times = dict(logged.get(ends, []))
        inside = [fields for fields in times if begun < times[fields] < ended]
        while inside and inside[0] not in found and times[inside[0]] < begun + ANSWERED_S:
            inside.pop(0)
        assert set(inside) <= set(found), ends
        if inside:
            everything = [fields for fields, _ in logged[ends]]
            assert set(found[:-10]) <= set(everything), ends  # the last may end behind the log
            compared += len(inside)
    assert compared > 50


def requests_of(log: Path) -> dict[str, list[tuple[tuple[object, ...], float]]]:
    """Return the headers of requests in a broker's log by connection, and when each came."""
    found: dict[str, list[tuple[tuple[object, ...], float]]] = {}
    for line in log.read_text().splitlines():
        stamp, _, rest = line.partition("] ")
        if " Completed request:" not in f" {rest}":
            continue
        row = json.loads(rest[rest.index("{") : rest.rindex("}") + 1])
        header = row["requestHeader"]
        names = "requestApiKey", "requestApiVersion", "correlationId", "clientId"
        ends = "-".join(row["connection"].split("-")[:2])
        when = datetime.strptime(stamp[1:], "%Y-%m-%d %H:%M:%S,%f").timestamp()
        fields = tuple(header[name] for name in names)
        found.setdefault(ends, []).append((fields, when - row["totalTimeMs"] / 1000))
    return found


@pytest.mark.parametrize("turns", [20])
def test_attached_and_detached_again_and_again(broker: Cluster, tmp_path: Path, turns: int) -> None:
    """Under load: no error, no thread, no descriptor, and no class that changes, which stalls a JVM."""
    with loaded(kafka.secure(broker), f"again{turns}", rate=500) as application:
        process = application.pid
        before = kafka.method_bodies(process, tmp_path / "before", SSL_LAYER)
        for turn in range(turns):
            tapping = kafka.Tapping(process, "-w", tmp_path / f"{turn}.pcapng")
            if turn == 1:
                assert kafka.method_bodies(process, tmp_path / "during", SSL_LAYER) == before
            application.until_read(300)
            tapping.stop()
            assert kafka.cut_in(tmp_path / f"{turn}.pcapng")
            if turn == 0:
                files = kafka.files_of(process)
        assert kafka.until(lambda: not kafka.threads_of(process))
        assert kafka.files_of(process) == files
        assert kafka.method_bodies(process, tmp_path / "after", SSL_LAYER) == before


@pytest.mark.parametrize("kind", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT"])
def test_clients_that_begin_in_a_tapped_jvm_are_whole(broker: Cluster, tmp_path: Path, kind: str) -> None:
    """The JVM had a client before the tap: its Kafka classes are loaded, and are not changed."""
    where, properties = {
        "PLAINTEXT": (broker.bootstrap, {}),
        "SSL": (kafka.secure(broker), kafka.tls()),
        "SASL_PLAINTEXT": (broker.sasl, SASL_PLAIN),
    }[kind]
    rounds = [tmp_path / "before", tmp_path / "tapped", tmp_path / "after"]
    texts = [f"topic={kind}-{path.name}\n" for path in rounds]
    rounds[0].write_text(texts[0])
    for path in rounds[1:]:
        os.mkfifo(path)  # the client waits for the content
    at_broker, at_client = tmp_path / "broker.pcapng", tmp_path / "client.pcapng"
    application = kafka.client(
        "4.4.0", where, "Rounds", properties, rounds=",".join(map(str, rounds)), count=10
    )
    try:
        application.until("round", 1)
        of_broker = kafka.Tapping(kafka.broker_pid(broker), "-w", at_broker)
        of_client = kafka.Tapping(application.pid, "-w", at_client)
        rounds[1].write_text(texts[1])
        application.until("round", 2)
        of_client.stop()
        of_broker.stop()
        rounds[2].write_text(texts[2])
        application.until("round", 3)
        ended = application.wait()
    finally:
        application.kill()
    assert [(event["read"], event["problem"]) for event in ended if event["event"] == "round"] == [
        (10, "")
    ] * 3
    client, both = kafka.bodies(at_client), kafka.bodies(at_broker)
    connections = {key[:2] for key in client}
    assert len(client) > 10 and client == {key: both[key] for key in both if key[:2] in connections}


def test_authentication_again_is_in_the_tap(tmp_path: Path) -> None:
    """KIP-368: the connection creates an authenticator, which reads and writes itself."""
    kafka.needs_kafka("broker-4.4.0", "client-4.4.0")
    of_kafka = kafka.spec("4.4.0")
    properties = of_kafka.properties | {"connections.max.reauth.ms": "4000"}
    at_broker, at_client = tmp_path / "broker.pcapng", tmp_path / "client.pcapng"
    with kafka.running(dataclasses.replace(of_kafka, properties=properties), BASE + 200) as cluster:
        application = kafka.client("4.4.0", cluster.sasl, "Load", SASL_PLAIN, topic="again", rate=50)
        try:
            application.until_read(50)
            of_broker = kafka.Tapping(kafka.broker_pid(cluster), "-w", at_broker)
            time.sleep(0.5)
            of_client = kafka.Tapping(application.pid, "-w", at_client)
            time.sleep(10)
            of_client.stop()
            time.sleep(0.5)
            of_broker.stop()
            time.sleep(5)  # and again without the tap
            assert application.stop()[-1]["errors"] == 0
        finally:
            application.kill()
    client, both = authentications(at_client), authentications(at_broker)
    assert len(client) > 3 and {key for _, key, *_ in client} == {17, 36}  # SaslHandshake, SaslAuthenticate
    assert set(client) <= set(both)


def authentications(path: Path) -> list[tuple[object, ...]]:
    """Return the exchanges that authenticate: their correlation ids come again."""
    return [
        (each.connection.client, each.api_key, bytes(each.request.data), bytes(each.response.data))
        for each in kdissect.open(str(path))
        if each.api_key in (17, 36) and each.request is not None and each.response is not None
    ]


def test_clients_without_jmx_are_found(broker: Cluster, tmp_path: Path) -> None:
    """Their threads wait in selectors of the JVM: each connection is tapped from a frame on."""
    application = kafka.client(
        "4.4.0", kafka.secure(broker), "Load", kafka.tls() | {"metric.reporters": ""}, topic="nojmx", rate=100
    )
    target = tmp_path / "tap.pcapng"
    try:
        application.until_read(50)
        tapping = kafka.Tapping(application.pid, "-w", target)
        application.until_read(200)
        tapping.stop()
        assert application.stop()[-1]["errors"] == 0
    finally:
        application.kill()
    assert {key[3] for key in kafka.cut_in(target)} >= {0, 1}


def test_the_hooks_come_off_when_kdissect_is_killed(broker: Cluster, tmp_path: Path) -> None:
    with loaded(kafka.secure(broker), "killed", rate=200) as application:
        process = application.pid
        tapping = kafka.Tapping(process, "-w", tmp_path / "tap.pcapng")
        # The JVM names a thread when it first runs, which may be after the tap said that it taps.
        assert kafka.until(lambda: kafka.threads_of(process) == ["kdissect-tap"], 10)
        tapping.process.send_signal(signal.SIGKILL)
        tapping.process.communicate()
        assert kafka.until(lambda: not kafka.threads_of(process), 10)
        assert "kdissect" not in kafka.method_bodies(process, tmp_path / "after", SSL_LAYER)


def test_a_kdissect_that_reads_no_more_is_said_as_gaps(broker: Cluster, tmp_path: Path) -> None:
    """The application goes on; what its buffer does not take is dropped, and the capture says how much."""
    target = tmp_path / "tap.pcapng"
    with loaded(kafka.secure(broker), "stalled", rate=1500, size=4000) as application:
        tapping = kafka.Tapping(application.pid, "-w", target)
        tapping.process.send_signal(signal.SIGSTOP)
        application.until_read(8000)  # 32 MB sent, and as much read
        tapping.process.send_signal(signal.SIGCONT)
        application.until_read(300)
        tapping.stop()
    shown = run("info", target)
    assert shown.code == 0
    assert "dropped" in shown.out and "gap" in shown.out, shown.out
    with pytest.warns(CaptureWarning, match="were dropped while capturing"):
        found = kafka.whole(kafka.bodies(target))
    assert len(found) > 20


def test_a_full_disk_ends_the_tap_alone(broker: Cluster) -> None:
    with loaded(kafka.secure(broker), "full", rate=100) as application:
        ran = run("tap", application.pid, "-w", "/dev/full")
        assert ran.code == 3 and "No space left on device" in ran.err.splitlines()[-1]
        assert kafka.until(lambda: not kafka.threads_of(application.pid), 10)


def test_a_jvm_that_is_killed_leaves_what_it_said(broker: Cluster, tmp_path: Path) -> None:
    target = tmp_path / "tap.pcapng"
    application = kafka.client("4.4.0", kafka.secure(broker), "Load", kafka.tls(), topic="dies", rate=100)
    try:
        application.until_read(50)
        tapping = kafka.Tapping(application.pid, "-w", target)
        application.until_read(200)
    finally:
        application.kill()
    tapping.wait()
    assert "the JVM, or somebody else, ended it" in tapping.said
    assert run("info", target).code == 0 and len(kafka.cut_in(target)) > 5


def test_detach_ends_a_tap(broker: Cluster, tmp_path: Path) -> None:
    with loaded(kafka.secure(broker), "detached", rate=100) as application:
        process = application.pid
        tapping = kafka.Tapping(process, "-w", tmp_path / "tap.pcapng")
        again = run("tap", process, "-w", tmp_path / "again.pcapng")
        assert (again.code, again.err.count("\n")) == (3, 1) and "tapped already" in again.err
        assert run("tap", process, "--detach").code == 0
        tapping.wait()
        assert "somebody else, ended it" in tapping.said
        assert kafka.until(lambda: not kafka.threads_of(process), 10)
        assert run("tap", process, "-w", tmp_path / "again.pcapng", "--duration", "1s").code == 0


def test_live_and_check_take_a_tap_for_an_interface(broker: Cluster, tmp_path: Path) -> None:
    with loaded(kafka.secure(broker), "live", rate=100) as application:
        name = f"tap:{application.pid}"
        live = run("live", "-i", name, "--duration", "3s", "--format", "jsonl", "-Y", "api == Produce")
        assert live.code == 0 and live.out.count('"api":"Produce"') > 3, live.err
        kept = run("live", "-i", name, "--duration", "2s", "-w", tmp_path / "kept.pcapng")
        assert kept.code == 0 and len(kafka.cut_in(tmp_path / "kept.pcapng")) > 5, kept.err
        check = run("check", "-i", name, "--duration", "2s")
        assert check.code in (0, 1) and "kafka" not in check.err, check.err
        counted = run("stats", "-i", name, "--duration", "2s", "--by", "api")
        assert counted.code == 0 and "Produce" in counted.out, counted.err
        judged = run("upgrade", "-i", name, "--duration", "2s", "--target", "4.4")
        assert judged.code == 0 and "Kafka 4.4: " in judged.out, judged.err
        both = run("live", "-i", name, "-i", "lo")
        assert (both.code, both.err.count("\n")) == (2, 1)


def test_filters_of_packets_and_of_exchanges(broker: Cluster, tmp_path: Path) -> None:
    """-f chooses what is written, -Y what is listed; without -w all is listed."""
    with loaded(kafka.secure(broker), "filters", rate=100) as application:
        path, process = tmp_path / "tap.pcapng", application.pid
        listed = run("tap", process, "--duration", "2s")
        assert listed.code == 0 and "\tProduce\t" in listed.out and "\tFetch\t" in listed.out, listed.err
        both = run("tap", process, "--duration", "2s", "-Y", "api == Fetch", "-w", path)
        assert both.code == 0 and "\tFetch\t" in both.out and "\tProduce\t" not in both.out, both.err
        assert path.stat().st_mode & 0o777 == 0o600
        found = kafka.cut_in(path)
        assert {key[3] for key in found} >= {0, 1}
        port = next(key[0].port for key in found if key[3] == 0)
        only = run("tap", process, "--duration", "2s", "-f", f"tcp port {port}", "-w", path)
        assert only.code == 0, only.err
        assert {key[0].port for key in kafka.cut_in(path)} == {port}
        live = run(
            "live",
            "-i",
            f"tap:{process}",
            "-f",
            f"not tcp port {port}",
            "--duration",
            "2s",
            "--format",
            "jsonl",
        )
        assert '"api":"Fetch"' in live.out and f":{port}" not in live.out, live.err
        none = run("tap", process, "--duration", "1s", "-f", "udp", "-w", path)
        assert none.code == 0 and "no packet that -f takes is in it" in none.err


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_screen_takes_a_tap_for_an_interface(broker: Cluster) -> None:
    def tmux(*words: str) -> str:
        words = ("tmux", "-L", f"kdissect-tap-{os.getpid()}", *words)
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout

    with loaded(kafka.secure(broker), "screen", rate=50) as application:
        screen = shlex.join(command("tui", "-i", f"tap:{application.pid}"))
        tmux("new-session", "-d", "-x", "160", "-y", "40", "-s", "screen", screen)
        try:
            assert kafka.until(lambda: "Produce" in tmux("capture-pane", "-p"), 60), tmux(
                "capture-pane", "-p"
            )
            tmux("send-keys", "q")
            assert kafka.until(lambda: not kafka.threads_of(application.pid), 15)
        finally:
            subprocess.run(["tmux", "-L", f"kdissect-tap-{os.getpid()}", "kill-server"], check=False)


def test_the_jvms_are_listed_with_what_kafka_they_have(broker: Cluster) -> None:
    shown = run("tap", "--list")
    assert shown.code == 0
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[0] == ["PID", "JAVA", "KAFKA", "COMMAND"]
    (mine,) = (row for row in rows if row[0] == str(kafka.broker_pid(broker)))
    assert mine[2:] == ["4.4.0", "kafka.Kafka"]


def test_the_agent_alone_writes_a_file(broker: Cluster, tmp_path: Path) -> None:
    """As in a container: nothing of kdissect but the jar."""
    target = tmp_path / "alone.pcapng"
    jvm = [f"-javaagent:{tap_source.agent_jar()}=file={target}"]
    kafka.client(
        "4.4.0", kafka.secure(broker), "Produce", kafka.tls(), jvm=jvm, topic="alone", count=3
    ).wait()
    assert target.stat().st_mode & 0o777 == 0o600
    found = kafka.bodies(target)
    assert found == kafka.whole(found) and len(found) > 3
    assert run("info", target).out.count("anomalies") == 0


def alone(where: str, topic: str, options: str, *jvm: str) -> kafka.Client:
    """Return an application under load in a JVM that has the agent from its start, with these options."""
    words = [f"-javaagent:{tap_source.agent_jar()}={options}", *jvm]
    application = kafka.client("4.4.0", where, "Load", kafka.tls(), jvm=words, topic=topic, rate=100)
    application.until_read(100)
    return application


def unhurt(application: kafka.Client) -> str:
    """End it: it read all that it wrote, and nothing of the tap is left. Gives its standard error."""
    try:
        end = application.stop()[-1]
        assert end["errors"] == 0 and end["sent"] == end["read"], end
    finally:
        application.kill()
    return application._errors


def test_the_agent_alone_writes_to_a_listener(broker: Cluster, tmp_path: Path) -> None:
    """One reader after another, each from where it comes; nothing is hooked while there is none."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    application = alone(kafka.secure(broker), "listens", f"listen={port},token=abc")
    try:
        assert "kdissect" not in kafka.method_bodies(application.pid, tmp_path / "code", SSL_LAYER)
        for said in (b"abd\n", b"abcd"):
            with socket.create_connection((HOST, port)) as stranger:
                stranger.sendall(said)
                stranger.settimeout(10)
                assert stranger.recv(1) == b""
        for _ in range(2):
            with socket.create_connection((HOST, port)) as link, link.makefile("rb") as read:
                link.sendall(b"abc\n")
                listed = subprocess.Popen(
                    command("live", "-", "--format", "jsonl", "--limit", "20"),
                    stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CHECKOUT,
                )  # fmt: skip
                out, err = listed.communicate(timeout=60)
            assert listed.returncode == 0 and out.count(b"\n") == 20, err
        assert run("tap", application.pid, "--detach").code == 0
        assert kafka.until(lambda: not kafka.threads_of(application.pid))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, port))
    finally:
        unhurt(application)


@pytest.mark.parametrize("how", ["leaves", "never comes", "is removed"])
def test_a_named_pipe_whose_reader_is_gone(broker: Cluster, tmp_path: Path, how: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    application = alone(kafka.secure(broker), f"pipe{how[:2]}", f"file={pipe}")
    try:
        process = application.pid
        if how == "leaves":
            with pipe.open("rb") as reader:
                assert reader.read(4) == b"\n\r\r\n"
        elif how == "is removed":
            pipe.unlink()
            assert run("tap", process, "--detach").code == 0
        else:
            assert run("tap", process, "--detach").code == 0
        if how == "is removed":  # its thread waits for a reader that cannot come
            assert "kdissect" not in kafka.method_bodies(process, tmp_path / "after", SSL_LAYER)
        else:
            assert kafka.until(lambda: not kafka.threads_of(process), 15)
        application.until_read(50)
    finally:
        said = unhurt(application)
    assert not pipe.exists() or stat.S_ISFIFO(pipe.stat().st_mode)
    assert ("kdissect-tap: ended: Broken pipe" in said) == (how == "leaves"), said


def test_a_full_disk_of_the_agent_alone(broker: Cluster) -> None:
    said = unhurt(alone(kafka.secure(broker), "diskful", "file=/dev/full"))
    assert "kdissect-tap: ended: No space left on device" in said


def test_a_security_manager_does_not_hinder(broker: Cluster, tmp_path: Path) -> None:
    """Of Java to 17: the application has its rights, the agent's jar has none, and sees the addresses."""
    policy = tmp_path / "policy"
    policy.write_text(
        f'grant codeBase "file:{workshop.HOME}/-" {{ permission java.security.AllPermission; }};\n'
    )
    manager = ["-Djava.security.manager", f"-Djava.security.policy={policy}"]
    version = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    if int(version.split('"')[1].split(".")[0]) > 17:
        pytest.skip("Java after 17 needs more for a security manager, after 23 has none")
    where, target = kafka.secure(broker), tmp_path / "tap.pcapng"
    application = alone(where, "managed", f"file={tmp_path / 'alone.pcapng'}", *manager)
    try:
        assert run("tap", application.pid, "--detach").code == 0
        tapping = kafka.Tapping(application.pid, "-w", target)
        application.until_read(100)
        tapping.stop()
    finally:
        said = unhurt(application)
    assert "kdissect-tap" not in said, said
    assert len(kafka.whole(kafka.bodies(tmp_path / "alone.pcapng"))) > 5
    found = kafka.cut_in(target)
    assert len(found) > 5 and {f"{key[1].host}:{key[1].port}" for key in found} == {where}


def test_a_jvm_in_another_container(broker: Cluster, tmp_path: Path) -> None:
    """With its own processes and its own /tmp, on the same network: as in a pod."""
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("no namespaces can be made here")
    line = kafka.line("4.4.0", kafka.secure(broker), "Load", kafka.tls(), topic="contained", rate=100)
    own = tmp_path / "tmp"
    own.mkdir()
    inner = f"mount --rbind {own} /tmp && exec {shlex.join(line)}"
    if str(workshop.HOME).startswith("/tmp/"):  # the jars
        kept = own / workshop.HOME.relative_to("/tmp")
        kept.mkdir(parents=True)
        inner = f"mount --bind {workshop.HOME} {kept} && {inner}"
    contained = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", inner]
    application = kafka.Client(contained, lambda _event: None)
    try:
        application.until_read(50)
        children = Path(f"/proc/{application.pid}/task/{application.pid}/children")
        process = int(children.read_text())
        listed = [each.split() for each in run("tap", "--list").out.splitlines()]
        assert [row[2:] for row in listed if row[0] == str(process)] == [["4.4.0", "Driver"]]
        tapping = kafka.Tapping(process, "-w", tmp_path / "tap.pcapng")
        application.until_read(100)
        tapping.stop()
        assert run("tap", process, "--detach").code == 0
        assert kafka.until(lambda: not kafka.threads_of(process))
        left = {path.name for path in own.iterdir()}
        assert not [name for name in left if "kdissect" in name or name.startswith(".attach")], left
        end = application.stop()[-1]
        assert end["errors"] == 0 and end["sent"] == end["read"], end
    finally:
        application.kill()
    assert len(kafka.cut_in(tmp_path / "tap.pcapng")) > 5


def test_live_of_a_plain_listener_beside_dumpcap(broker: Cluster, tmp_path: Path) -> None:
    """Nothing missing, nothing too many: each exchange that dumpcap saw is listed once, alike."""
    listed = subprocess.Popen(
        command("live", "-i", f"tap:{kafka.broker_pid(broker)}", "--format", "jsonl", "--only-port",
                str(broker.nodes[0].port(2))),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT,
    )  # fmt: skip
    try:
        assert kafka.until(lambda: kafka.threads_of(kafka.broker_pid(broker)) == ["kdissect-tap"])
        with sniffing(broker, tmp_path / "packets.pcapng"):
            kafka.client("4.4.0", broker.bootstrap, "Produce", topic="beside", count=300, size=3000).wait()
            kafka.client("4.4.0", broker.bootstrap, "Consume", topic="beside", count=300).wait()
        listed.send_signal(signal.SIGINT)
        out, err = listed.communicate(timeout=60)
    finally:
        listed.kill()
    assert listed.returncode == 0, err
    port = str(broker.nodes[0].port(2))
    there = run("inspect", tmp_path / "packets.pcapng", "--format", "jsonl", "--only-port", port)
    assert told(out) == told(there.out) and len(told(out)) > 20


def told(lines: str) -> list[list[str]]:
    """Return the facts of each exchange, without times and numbers, in an order of their own."""
    names = ("client", "broker", "client_id", "api", "api_version", "correlation_id", "state", "errors")
    rows = [json.loads(line) for line in lines.splitlines()]
    sizes = ([str((row[side] or {}).get("bytes")) for side in ("request", "response")] for row in rows)
    return sorted([str(row[name]) for name in names] + size for row, size in zip(rows, sizes, strict=True))
