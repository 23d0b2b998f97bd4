"""Brokers that are not Apache Kafka: Tansu, SeaweedFS, and the mock clusters of librdkafka and franz-go."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from captures.record import golang, pythons, workshop
from captures.record.drivers import Running
from captures.record.spec import HOST

TANSU = "0.6.0"
_START_S = 60.0
_GATEWAY = 9093  # SeaweedFS names it in Metadata, whatever its option says


@contextmanager
def librdkafka_mock(release: str) -> Iterator[int]:
    """Run the mock cluster of a release of confluent-kafka with one broker, and yield its port."""
    driver = pythons.release("librdkafka", release)
    with _serving([*driver.command, "-", "serves", "--client-id", "mock"]) as port:
        yield port


@contextmanager
def kfake_cluster() -> Iterator[int]:
    """Run the mock cluster of franz-go with one broker, and yield its port."""
    with _serving([*golang.kfake().command]) as port:
        yield port


@contextmanager
def tansu(port: int) -> Iterator[None]:
    """Run Tansu with its storage in memory."""
    address = f"tcp://{HOST}:{port}"
    words = ["broker", "--listener-url", address, "--advertised-listener-url", address]
    words += ["--kafka-cluster-id", "tansu", "--storage-engine", "memory://tansu/"]
    with _listening([_tansu_program(), *words], port):
        yield


def _tansu_program() -> str:
    home = workshop.folder(f"tansu-{TANSU}")
    program = home / "bin" / "tansu"
    if not program.exists():
        cargo = workshop.program("cargo", "build Tansu")
        features = ["--no-default-features", "--features", "dynostore"]
        workshop.run(
            [cargo, "install", "tansu", "--version", TANSU, *features, "--root", str(home)],
            timeout=workshop.BUILD_S,
        )
    return str(program)


@contextmanager
def seaweedfs(base: int) -> Iterator[int]:
    """Run the gateway of SeaweedFS for Kafka, and the servers that it needs on ports from `base` on.

    Yields its port.
    """
    weed = golang.seaweedfs()
    master, volume, filer, queue, registry = range(base, base + 5)
    with ExitStack() as held:
        home = held.enter_context(tempfile.TemporaryDirectory(prefix="kdissect-seaweedfs-"))
        servers = [
            weed, "server", f"-dir={home}", f"-ip={HOST}", f"-ip.bind={HOST}", "-filer", "-mq.broker",
            f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
            f"-mq.broker.port={queue}",
        ]  # fmt: skip
        held.enter_context(_listening(servers, queue))
        gateway = [
            weed, "mq.kafka.gateway", f"-ip={HOST}", f"-port={_GATEWAY}", f"-master={HOST}:{master}",
            f"-schema-registry-url=http://{HOST}:{registry}",
        ]  # fmt: skip
        held.enter_context(_listening(gateway, _GATEWAY))
        yield _GATEWAY


@contextmanager
def _listening(command: Sequence[str], port: int) -> Iterator[None]:
    """Run a server until it listens on a port, and end it afterwards. Raises RuntimeError with its words."""
    with tempfile.TemporaryFile("w+") as said:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, text=True)
        try:
            until_s = time.monotonic() + _START_S
            while not _listens(port):
                if server.poll() is not None or time.monotonic() > until_s:
                    said.seek(0)
                    raise RuntimeError(f"{Path(command[0]).name} does not listen:\n{said.read()[-2000:]}")
                time.sleep(0.2)
            yield
        finally:
            server.kill()
            server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@contextmanager
def _serving(command: list[str]) -> Iterator[int]:
    running = Running(command, lambda event: None)
    try:
        running.until("serves")
        yield next(event["port"] for event in running.events if event["event"] == "serves")
    finally:
        running.kill()
