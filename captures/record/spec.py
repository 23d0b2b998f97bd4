"""What cluster a scenario wants, and the server properties that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from captures.record.certificates import NAMED, certificate, trust

DATA = Path("/var/lib/kafka-record")
"""Brokers keep their data here, not in the workshop: DescribeLogDirs puts the path on the wire."""

HOST = "127.0.0.1"
USERS = {
    "admin": "admin-pw-7f3e",
    "alice": "alice-pw-19c2",
    "bob": "bob-pw-55d0",
    "mallory": "mallory-pw-e0a1",
}
"""Users of the SASL listener with the passwords planted for them."""
TOKEN_KEY = "delegation-key-4b1d"  # secret of the broker that signs delegation tokens (KIP-48)


@dataclass(frozen=True)
class Listener:
    """A listener beside those that every broker has, by name, security protocol and role of its port.

    Clients of it are told the host `told` and the port of the role `told_role` (0: its own).
    """

    name: str
    protocol: str
    role: int
    told: str = HOST
    told_role: int = 0


@dataclass(frozen=True)
class Spec:
    """A cluster: `nodes` brokers of one Apache Kafka version.

    KRaft nodes are broker and controller in one, from 4.x on with a dynamic quorum (KIP-853); with
    `zookeeper` the brokers share one ZooKeeper. `sniff` is `clients` (the listeners for clients) or
    `all` (also what goes between brokers and controllers); with `from_start` the capture begins before
    the brokers do. `request_log` turns kafka.request.logger to TRACE. With `one_listener` brokers and
    clients share PLAINTEXT: protocols before 0.10.2 know no names of listeners. `tls` adds listeners
    for a proxy that ends TLS, `listeners` are more of them. `release` is an older metadata version to format
    for, `features` are levels of others (`share.version=1`). With `racks` each
    node stands in a rack of its own, `rack-ID`. With `key_log` the brokers write the secrets of their TLS.
    """

    version: str
    nodes: int = 1
    zookeeper: bool = False
    sniff: str = "clients"
    from_start: bool = False
    request_log: bool = False
    one_listener: bool = False
    tls: bool = False
    release: str = ""
    features: tuple[str, ...] = ()
    racks: bool = False
    key_log: bool = False
    listeners: tuple[Listener, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def modern(self) -> bool:
        """Whether the quorum is dynamic and the newest features are there."""
        return self.version.startswith("4.")


@dataclass(frozen=True)
class Node:
    """One server of a cluster, by its id, with its ports and folders."""

    id: int
    base: int

    def port(self, role: int) -> int:
        """Return a port of this node; the roles are the constants below."""
        return self.base + 10 * self.id + role

    @property
    def home(self) -> Path:
        """Where this node keeps its data."""
        return DATA / f"c{self.base}" / f"node{self.id}"


CONTROLLER, PLAIN, SASL, SPARE, INTERNAL, TLS12, TLS13, TLS12_PLAIN, TLS13_PLAIN = range(1, 10)
_LISTENERS = {"PLAINTEXT": PLAIN, "SASL": SASL, "INTERNAL": INTERNAL}
_BEHIND = {"BEHIND12": (TLS12_PLAIN, TLS12), "BEHIND13": (TLS13_PLAIN, TLS13)}
"""Listeners behind a proxy that ends TLS: their own role, and the role clients are told to connect to."""


def properties(spec: Spec, node: Node) -> dict[str, str]:
    """Return the server.properties of one node."""
    content = _common(spec, node) | _sasl(spec)
    content |= _zookeeper(node) if spec.zookeeper else _kraft(spec, node)
    if not spec.zookeeper and spec.version < "3.6":
        content |= _first_kraft(spec, node)
        content.pop(_token_key(spec))
    if spec.one_listener:
        content |= {
            "listeners": f"PLAINTEXT://{HOST}:{node.port(PLAIN)}",
            "inter.broker.listener.name": "PLAINTEXT",
        }
    if spec.tls:
        content |= _behind_proxies(content, node)
    if spec.listeners:
        content |= _more_listeners(content, spec, node)
    if spec.racks:
        content["broker.rack"] = f"rack-{node.id}"
    return content | dict(spec.properties)


def _more_listeners(content: dict[str, str], spec: Spec, node: Node) -> dict[str, str]:
    more = spec.listeners
    listeners = content["listeners"]
    own = ",".join(f"{each.name}://{HOST}:{node.port(each.role)}" for each in more)
    told = ",".join(f"{each.name}://{each.told}:{node.port(each.told_role or each.role)}" for each in more)
    protocols = ",".join(f"{each.name}:{each.protocol}" for each in more)
    return {
        "listeners": f"{listeners},{own}",
        "advertised.listeners": f"{listeners.partition(',CONTROLLER')[0]},{told}",
        "listener.security.protocol.map": f"{content['listener.security.protocol.map']},{protocols}",
    } | (_keystore() if any(each.protocol.endswith("SSL") for each in more) else {})


def _keystore() -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificate(*NAMED)),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust(*NAMED)),
    }


def _behind_proxies(content: dict[str, str], node: Node) -> dict[str, str]:
    listeners = content["listeners"]
    own = ",".join(f"{name}://{HOST}:{node.port(role)}" for name, (role, _) in _BEHIND.items())
    told = ",".join(f"{name}://{HOST}:{node.port(role)}" for name, (_, role) in _BEHIND.items())
    plain = ",".join(f"{name}:PLAINTEXT" for name in _BEHIND)
    return {
        "listeners": f"{listeners},{own}",
        "advertised.listeners": f"{listeners.partition(',CONTROLLER')[0]},{told}",
        "listener.security.protocol.map": f"{content['listener.security.protocol.map']},{plain}",
    }


def _common(spec: Spec, node: Node) -> dict[str, str]:
    copies = str(min(3, spec.nodes))
    return {
        "listeners": ",".join(f"{name}://{HOST}:{node.port(role)}" for name, role in _LISTENERS.items()),
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "INTERNAL",
        "log.dir": str(
            node.home
        ),  # its default, otherwise on the wire in DescribeConfigs, looks like a path of a user
        "log.dirs": f"{node.home}/d1,{node.home}/d2",
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "200",
        "group.min.session.timeout.ms": "1000",
        "num.partitions": "1",
        "log.retention.ms": "-1",  # records carry timestamps of a fixed day
        "auto.create.topics.enable": "true",
        "super.users": "User:ANONYMOUS;User:admin",
        "allow.everyone.if.no.acl.found": "true",
        "log.cleaner.dedupe.buffer.size": "20000000",
        "log.cleaner.backoff.ms": "1000",
        "replica.fetch.wait.max.ms": "1000",
    }


def _first_kraft(spec: Spec, node: Node) -> dict[str, str]:
    """Without what the first KRaft versions lack: two log directories, tokens, until 3.2 an authorizer."""
    authorizer = {"authorizer.class.name": ""} if spec.version < "3.2" else {}
    return {"log.dirs": f"{node.home}/d1"} | authorizer


def _token_key(spec: Spec) -> str:
    return "delegation.token.master.key" if spec.version < "2.9" else "delegation.token.secret.key"


def _sasl(spec: Spec) -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    module = "org.apache.kafka.common.security"
    scram = f"{module}.scram.ScramLoginModule required;"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.sasl.plain.sasl.jaas.config": f"{module}.plain.PlainLoginModule required {users};",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": scram,
        "listener.name.sasl.oauthbearer.sasl.jaas.config": (
            f'{module}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin";'
        ),
        _token_key(spec): TOKEN_KEY,
    }


def _zookeeper(node: Node) -> dict[str, str]:
    return {
        "broker.id": str(node.id),
        "zookeeper.connect": f"{HOST}:{zookeeper_port(node.base)}",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    }


def zookeeper_port(base: int) -> int:
    """Return the client port of the cluster's ZooKeeper."""
    return base + 1


def _kraft(spec: Spec, node: Node) -> dict[str, str]:
    nodes = [Node(number, node.base) for number in range(1, spec.nodes + 1)]
    content = {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.listener.names": "CONTROLLER",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "metadata.log.dir": f"{node.home}/d1",
    }
    content["listeners"] = _common(spec, node)["listeners"] + f",CONTROLLER://{HOST}:{node.port(CONTROLLER)}"
    if spec.modern:
        content["controller.quorum.bootstrap.servers"] = ",".join(
            f"{HOST}:{peer.port(CONTROLLER)}" for peer in nodes
        )
        return content | _modern(spec)
    content["controller.quorum.voters"] = ",".join(
        f"{peer.id}@{HOST}:{peer.port(CONTROLLER)}" for peer in nodes
    )
    return content


def _modern(spec: Spec) -> dict[str, str]:
    copies = str(min(3, spec.nodes))
    return {
        "unstable.api.versions.enable": "true",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.num.partitions": "3",
        "share.coordinator.state.topic.min.isr": "1",
        "metric.reporters": "TelemetryReceiver",
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.share.min.heartbeat.interval.ms": "500",
        "group.share.heartbeat.interval.ms": "500",
        "group.streams.min.heartbeat.interval.ms": "500",
        "group.streams.heartbeat.interval.ms": "500",
    }
