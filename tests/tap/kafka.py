"""Brokers and Java clients for the tests of taps: those of the recorder (`captures/record`)."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import kdissect
from agent import build
from captures.record import jars, workshop
from captures.record.broker import Cluster
from captures.record.certificates import NAMED, certificate, trust
from captures.record.drivers import Running
from captures.record.spec import HOST, TLS13, TLS13_PLAIN, Listener, Spec
from captures.record.truth import Event
from tests.support.console import CHECKOUT, command, run

SECURE = 4  # role of the port of the TLS listener that the broker has itself
JAVA_DIR = Path(__file__).parent / "java"
_SECONDS = 40
_PORTS_OF_A_WORKER = 400


def needs_java() -> None:
    """Skip where taps, or JVMs to be tapped, cannot be."""
    if not sys.platform.startswith("linux"):
        pytest.skip("taps need Linux")
    for program in ("java", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: nothing to tap")


def needs_kafka(*names: str) -> None:
    """Skip where the recorder has not fetched these sets of jars."""
    needs_java()
    if os.geteuid() != 0:
        pytest.skip("the recorder's brokers keep their data under /var/lib: that needs root")
    for name in names:
        if not (workshop.HOME / "jars" / name / ".complete").exists():
            pytest.skip(f"Apache Kafka ({name}) is not in {workshop.HOME}: the recorder fetches it")


def needs_sniffer() -> None:
    """Skip where no packets can be captured."""
    for program in ("dumpcap", "openssl", "keytool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: needed to compare taps with packets")


@contextlib.contextmanager
def running(spec: Spec, base: int) -> Iterator[Cluster]:
    """Run a cluster, ready to use; each worker of pytest has ports and folders of its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    cluster = Cluster(spec, base + _PORTS_OF_A_WORKER * int(worker.removeprefix("gw")))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def spec(version: str) -> Spec:
    """Return one broker with plain, SASL and TLS listeners, also for a proxy that writes key logs."""
    behind = Listener("BEHIND", "PLAINTEXT", TLS13_PLAIN, told_role=TLS13)
    listeners = Listener("SECURE", "SSL", SECURE), behind
    return Spec(version, listeners=listeners, properties={"metric.reporters": ""} | keystore())


def keystore() -> dict[str, str]:
    """Return the broker's certificate, as Kafka 2.8 reads it, too: there PEM keys need a password."""
    pem = certificate(*NAMED)
    store = pem.with_suffix(".store.p12")
    if not store.exists():
        words = ["pkcs12", "-export", "-in", str(pem), "-out", str(store), "-passout", "pass:public"]
        workshop.run(["openssl", *words])
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "public",
        "ssl.key.password": "public",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": tls()["ssl.truststore.location"],
        "ssl.truststore.password": "public",
    }


def broker_pid(cluster: Cluster) -> int:
    """Return the process of its only broker."""
    return cluster._processes[1].pid


def secure(cluster: Cluster) -> str:
    """Return where the broker itself speaks TLS."""
    return f"{HOST}:{cluster.nodes[0].port(SECURE)}"


def tls(*which: str) -> dict[str, str]:
    """Properties of a client of a TLS listener; of any version, of which the old read no PEM."""
    certificate = trust(*(which or NAMED))
    store = certificate.with_suffix(".p12")
    if not store.exists():
        words = ["-importcert", "-noprompt", "-file", str(certificate), "-alias", "broker"]
        workshop.run(
            ["keytool", *words, "-keystore", str(store), "-storetype", "PKCS12", "-storepass", "public"]
        )
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(store),
        "ssl.truststore.password": "public",
        "ssl.endpoint.identification.algorithm": "",
    }


def moved(classpath: str, folder: Path) -> str:
    """Return a class path with the same classes under another package name, as shading makes it."""
    target = folder / "moved.jar"
    names = (b"org/apache/kafka", b"elsewhere/kafka"), (b"org.apache.kafka", b"elsewhere.kafka")

    def renamed(data: bytes) -> bytes:
        for old, new in names:
            data = data.replace(old, new)
        return data

    seen: set[str] = set()
    with zipfile.ZipFile(target, "w") as archive:
        for entry in classpath.split(os.pathsep):
            for name, data in _files(Path(entry)):
                if name not in seen and not name.startswith("META-INF/"):
                    seen.add(name)
                    is_class = name.endswith(".class")
                    archive.writestr(
                        renamed(name.encode()).decode(), build.renamed(data, renamed) if is_class else data
                    )
    return str(target)


def _files(entry: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what one entry of a class path holds: a folder of classes, or jars by a wildcard."""
    if entry.name != "*":
        yield from (
            (path.relative_to(entry).as_posix(), path.read_bytes()) for path in sorted(entry.rglob("*.class"))
        )
        return
    for path in sorted(entry.parent.glob("*.jar")):
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist() if not name.endswith("/"))


class Client(Running):
    """A driver that leaves no pipe open."""

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def until_read(self, count: int) -> None:
        """Wait until an application under load has read so many records more."""
        goal = self._read() + count
        assert until(lambda: self._read() >= goal, 150), self.events[-1:]

    def wait(self, seconds: float = 150) -> list[Event]:
        """As in `Running`."""
        try:
            return super().wait(seconds)
        finally:
            self._close()

    def kill(self) -> None:
        """As in `Running`."""
        super().kill()
        self._close()

    def _read(self) -> int:
        return max((event["read"] for event in self.events if event.get("event") == "load"), default=0)

    def _close(self) -> None:
        for reader in self._readers:
            reader.join(5)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def client(
    version: str, bootstrap: str, action: str, properties: dict[str, str] | None = None, **options: Any
) -> "Client":
    """Start a driver of the recorder; see `line`."""
    return Client(line(version, bootstrap, action, properties, **options), lambda _event: None)


def line(
    version: str, bootstrap: str, action: str, properties: dict[str, str] | None = None, *,
    jvm: Sequence[str] = (), program: str = "", **options: Any,
) -> list[str]:  # fmt: skip
    """Return the command line of a driver of the recorder, in a JVM with these options."""
    classpath = jars.classpath(f"client-{version}", _drivers(version))
    light = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]
    found = [program or "java", *jvm, *light, "-cp", classpath, "Driver", bootstrap, action]
    for key, value in options.items():
        found += ["--" + key.replace("_", "-"), str(value)]
    for key, value in (properties or {}).items():
        found += ["--set", f"{key}={value}"]
    return found


def _drivers(version: str) -> Path:
    """`Load.java` and the recorder's oldest drivers, for one version of the client and any JVM."""
    folders = [workshop.RECORD / "clients" / "java" / tier for tier in ("oldest", "basic")]
    sources = [
        JAVA_DIR / "Load.java",
        JAVA_DIR / "Paced.java",
        JAVA_DIR / "Rounds.java",
        *(path for folder in folders for path in sorted(folder.glob("*.java"))),
    ]
    text = "".join(path.read_text() for path in sources)
    target = workshop.folder("classes", "tap", version)
    mark = target / "sources"
    if not mark.exists() or mark.read_text() != text:
        options = ["-nowarn", "-Xlint:none", "-proc:none", "--release", "8" if version < "4" else "11"]
        library = jars.classpath(f"client-{version}")
        workshop.run(["javac", *options, "-cp", library, "-d", str(target), *map(str, sources)])
        mark.write_text(text)
    return target


class Tapping:
    """A running `kdissect tap`, from when it says that it taps; `stop` ends it as Ctrl-C does."""

    started: ClassVar[list[Self]] = []

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            command("tap", *arguments),
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            start_new_session=True,
        )
        self.started.append(self)
        assert self.process.stderr is not None
        self.said = ""
        while "tapping" not in self.said and (line := self.process.stderr.readline()):
            self.said += line
        assert "tapping" in self.said, self.said

    def stop(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        self.wait()

    def wait(self) -> None:
        """Wait for the end, which must be a good one."""
        _, rest = self.process.communicate(timeout=_SECONDS)
        self.said += rest
        assert self.process.returncode == 0, self.said

    @classmethod
    def end_all(cls) -> None:
        """End those that a failed test left running, that no later test is charged with them."""
        while cls.started:
            tapping = cls.started.pop()
            tapping.process.kill()
            if tapping.process.stderr is not None and not tapping.process.stderr.closed:
                tapping.process.communicate()


Bodies = dict[tuple[Any, ...], tuple[bytes | None, bytes | None]]


def bodies(paths: Path | Sequence[Path], *key_logs: Path, port: int = 0) -> Bodies:
    """Request and response, without their size, of all exchanges, by connection, correlation id and API.

    A client's port may be used again: a connection is its two ends and how many of the same ends were before
    it, in all captures together.
    """
    found: Bodies = {}
    connections: dict[tuple[Any, ...], list[tuple[Path, int]]] = {}
    for path in [paths] if isinstance(paths, Path) else paths:
        for each in kdissect.open(str(path), key_logs=[str(log) for log in key_logs]):
            ends = each.connection.client, each.connection.broker
            if port and port not in (ends[0].port, ends[1].port):
                continue
            same_ends = connections.setdefault(ends, [])
            if (path, each.connection.id) not in same_ends:
                same_ends.append((path, each.connection.id))
            earlier = same_ends.index((path, each.connection.id))
            key = (*ends, each.correlation_id, each.api_key, each.kind, earlier)
            assert key not in found or each.correlation_id is None, key
            request, response = (
                None if frame is None else bytes(frame.data) for frame in (each.request, each.response)
            )
            found[key] = request, response
    return found


def whole(found: Bodies) -> Bodies:
    """Return those with both sides."""
    return {key: value for key, value in found.items() if None not in value}


def cut_in(path: Path) -> Bodies:
    """Return the exchanges with both sides of a tap that began and ended in the middle of connections.

    Only those under way then may lack a side: five requests at most are, on a connection of a client.
    """
    found = bodies(path)
    both = whole(found)
    connections = {key[:2] for key in found}
    assert len(found) - len(both) <= 10 * len(connections), f"{len(found)} exchanges, {len(both)} whole"
    info = run("info", path)
    assert "skipped_bytes" not in info.out and "resynchronised" not in info.out, info.out
    return both


def method_bodies(process: int, folder: Path, class_name: str) -> str:
    """Return the code of a class as it is in a JVM now, by the JDK's serviceability agent."""
    tool = ["java", "--add-modules", "jdk.hotspot.agent"]
    place = "sun.jvm.hotspot.tools.jcore"
    package, _, name = class_name.rpartition(".")
    options = [
        f"--add-exports=jdk.hotspot.agent/{place}=ALL-UNNAMED",
        f"-D{place}.filter={place}.PackageNameFilter",
        f"-D{place}.PackageNameFilter.pkgList={package}",
        f"-D{place}.outputDir={folder}",
    ]
    done = subprocess.run(
        [*tool, *options, "-m", f"jdk.hotspot.agent/{place}.ClassDump", str(process)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = folder.joinpath(*package.split("."), f"{name}.class")
    if not found.exists():
        pytest.skip(
            f"the JDK shows no classes of a JVM that runs: {(done.stderr or done.stdout).strip()[:200]}"
        )
    shown = subprocess.run(
        ["javap", "-p", "-c", str(found)], capture_output=True, text=True, check=True
    ).stdout
    return re.sub(
        r"#\d+(, *\d+)?", "#", shown
    )  # places in the table of constants, which keeps what was added


def until(holds: Any, seconds: float = 20) -> bool:
    """Wait until something holds; whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.1)
    return bool(holds())


def threads_of(process: int) -> list[str]:
    """Return names of the threads of a process that are the tap's."""
    names = []
    for path in Path(f"/proc/{process}/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread that ended since it was listed
            with_name = path.read_text().strip()
            if with_name.startswith("kdissect"):
                names.append(with_name)
    return names


def files_of(process: int) -> int:
    """Return how many files and sockets a process has open."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))
