"""Clusters of Apache Kafka on loopback: formatted anew, started, waited for, restarted, stopped."""

import base64
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from captures.record import jars, loggers, workshop
from captures.record.spec import (
    CONTROLLER,
    DATA,
    HOST,
    INTERNAL,
    PLAIN,
    SASL,
    SPARE,
    TLS12,
    TLS12_PLAIN,
    TLS13,
    TLS13_PLAIN,
    Node,
    Spec,
    properties,
    zookeeper_port,
)

_READY_SECONDS = 90
_STOP_SECONDS = 30
_HEAP = "-Xmx384m"
_CLUSTER_ID = base64.urlsafe_b64encode(b"kdissect-corpus!").decode().rstrip("=")


class Cluster:
    """The servers of one Spec; clients connect to `bootstrap`, those that authenticate to `sasl`."""

    def __init__(
        self, spec: Spec, base: int, extensions: Path | None = None, cluster_id: str = _CLUSTER_ID
    ) -> None:
        self.cluster_id = cluster_id
        self.spec = spec
        self.base = base
        self.nodes = [Node(number, base) for number in range(1, spec.nodes + 1)]
        self.bootstrap = self.listener(PLAIN)
        self.sasl = self.listener(SASL)
        self.work = workshop.folder("run", f"c{base}", fresh=True)
        self._extensions = extensions
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def listener(self, role: int) -> str:
        """Return the bootstrap servers of one listener."""
        return ",".join(f"{HOST}:{node.port(role)}" for node in self.nodes)

    def ports(self, sniff: str) -> list[int]:
        """Return the ports to capture: those for clients, or all."""
        roles = [PLAIN, SASL, SPARE, TLS12, TLS13, TLS12_PLAIN, TLS13_PLAIN]
        if sniff == "all":
            roles += [INTERNAL, CONTROLLER]
        return [Node(number, self.base).port(role) for number in range(1, 10) for role in roles]

    @property
    def key_log(self) -> Path:
        """The secrets of the brokers' TLS, if the Spec asked for them."""
        return self.work / "tls.keys"

    def request_log(self, node: int) -> Path:
        """Return the request log of a node, if the Spec asked for one."""
        return self.work / f"node{node}" / "kafka-request.log"

    def start(self) -> None:
        """Bring the cluster up on empty disks."""
        shutil.rmtree(DATA / f"c{self.base}", ignore_errors=True)
        if self.spec.zookeeper:
            self._start_zookeeper()
        for node in self.nodes:
            self.configure(node, properties(self.spec, node))
            if not self.spec.zookeeper:
                self.format(node)
        for node in self.nodes:
            self.launch(node.id)
        for node in self.nodes:
            self.wait_ready(node.id)

    def configure(self, node: Node, content: dict[str, str]) -> None:
        """Write a node's properties and logging setup."""
        home = workshop.folder("run", f"c{self.base}", f"node{node.id}")
        for number in (1, 2):
            (node.home / f"d{number}").mkdir(parents=True, exist_ok=True)
        lines = [f"{key}={value}" for key, value in content.items()]
        (home / "server.properties").write_text("\n".join(lines) + "\n")
        loggers.write(home, self.spec)

    def format(self, node: Node, *options: str) -> None:
        """Format a node's storage; the default options make it part of the first quorum."""
        config = self.work / f"node{node.id}" / "server.properties"
        command = [
            *self._java("broker"),
            "kafka.tools.StorageTool",
            "format",
            "-t",
            self.cluster_id,
            "-c",
            str(config),
        ]
        workshop.run([*command, *(options or self._quorum())])

    def _quorum(self) -> list[str]:
        if not self.spec.modern:
            return ["-r", self.spec.release] if self.spec.release else []
        features = [option for feature in self.spec.features for option in ("--feature", feature)]
        if len(self.nodes) == 1:
            return ["--standalone", *features]
        voters = (f"{node.id}@{HOST}:{node.port(CONTROLLER)}:{directory_id(node)}" for node in self.nodes)
        return ["--initial-controllers", ",".join(voters)]

    def _java(self, kind: str, *options: str) -> list[str]:
        java = workshop.program("java", "run Apache Kafka (JDK 17 or newer)")
        more = [self._extensions] if self._extensions else []
        return [java, _HEAP, *options, "-cp", jars.classpath(f"{kind}-{self.spec.version}", *more)]

    def launch(self, node: int) -> None:
        """Start a server process without waiting for it."""
        home = self.work / f"node{node}"
        options = [*loggers.options(home, self.spec), "-XX:+UseSerialGC"]
        if self.spec.key_log:
            (agent,) = jars.folder("key-log").glob("*.jar")
            options.append(f"-javaagent:{agent}={self.key_log}")
        self._spawn(
            node, [*self._java("broker", *options), "kafka.Kafka", str(home / "server.properties")], home
        )

    def _spawn(self, number: int, command: list[str], home: Path) -> None:
        with (home / "out.log").open("wb") as out:
            self._processes[number] = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, cwd=home, start_new_session=True
            )

    def wait_ready(self, node: int) -> None:
        """Wait until a server says that it started. Raises RuntimeError with its log's end."""
        self._wait_log(node, "started (kafka.server.Kafka")

    def _wait_log(self, number: int, mark: str) -> None:
        log = self.work / f"node{number}" / "out.log"
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end and self._processes[number].poll() is None:
            text = log.read_text(errors="replace")
            if mark in text or "Kafka Server started" in text:
                return
            time.sleep(0.2)
        lines = [line for line in log.read_text(errors="replace").splitlines() if " INFO " not in line]
        raise RuntimeError(f"node {number} did not start:\n" + "\n".join(lines[-25:]))

    def _start_zookeeper(self) -> None:
        home = workshop.folder("run", f"c{self.base}", "node0")
        data = DATA / f"c{self.base}" / "zookeeper"
        data.mkdir(parents=True)
        config = home / "zookeeper.cfg"
        config.write_text(
            f"dataDir={data}\nclientPort={zookeeper_port(self.base)}\nclientPortAddress={HOST}\nadmin.enableServer=false\n"
        )
        loggers.write(home, self.spec)
        options = loggers.options(home, self.spec)
        command = [
            *self._java("broker", *options),
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            str(config),
        ]
        self._spawn(0, command, home)
        self._wait_log(0, "binding to port")

    def stop_node(self, node: int, *, kill: bool = False) -> None:
        """Stop one server, orderly or by SIGKILL."""
        process = self._processes.pop(node)
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)  # no matter if it is gone already
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def process_id(self, node: int) -> int:
        """Return the process of a server."""
        return self._processes[node].pid

    def freeze(self, node: int) -> None:
        """Let a server get no CPU until `thaw`."""
        self._processes[node].send_signal(signal.SIGSTOP)

    def thaw(self, node: int) -> None:
        """Let a server go on."""
        self._processes[node].send_signal(signal.SIGCONT)

    def restart_node(self, node: int, *, kill: bool = False) -> None:
        """Stop one server and wait until it is back."""
        self.stop_node(node, kill=kill)
        self.launch(node)
        self.wait_ready(node)

    def upgrade(self, version: str) -> None:
        """Stop a cluster of one node, and start it on the same disks as another version of Kafka."""
        (node,) = self.nodes
        self.stop_node(node.id)
        self.spec = replace(self.spec, version=version)
        loggers.write(self.work / f"node{node.id}", self.spec)
        self.launch(node.id)
        self.wait_ready(node.id)

    def stop(self) -> None:
        """Stop everything, ZooKeeper last."""
        for node in sorted(self._processes, reverse=True):
            self.stop_node(node, kill=node != 0)

    def close(self) -> None:
        """Stop and delete the data."""
        self.stop()
        shutil.rmtree(DATA / f"c{self.base}", ignore_errors=True)


def directory_id(node: Node) -> str:
    """Return the directory id to format a controller with (KIP-853): 16 bytes in URL-safe base64."""
    return base64.urlsafe_b64encode(b"kdissect-node-%02d" % node.id).decode().rstrip("=")
