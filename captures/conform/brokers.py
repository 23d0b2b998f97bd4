"""The brokers that are tested: each is started on loopback, and ended afterwards."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

from captures.pairs.pairs import RDKAFKA
from captures.record.broker import Cluster
from captures.record.golang import SEAWEEDFS
from captures.record.java import extensions
from captures.record.other_brokers import TANSU, kfake_cluster, librdkafka_mock, seaweedfs, tansu
from captures.record.spec import CONTROLLER, HOST, PLAIN, Spec


class Tested(NamedTuple):
    """A broker: its name on the page, how it is set up, and what runs it and yields its address."""

    name: str
    setup: str
    run: Callable[[int], AbstractContextManager[str]]


@contextmanager
def _kafka(spec: Spec, base: int, role: int = PLAIN) -> Iterator[str]:
    cluster = Cluster(spec, base, extensions() if spec.modern else None)
    try:
        cluster.start()
        yield f"{HOST}:{cluster.nodes[0].port(role)}"
    finally:
        cluster.close()


@contextmanager
def _kfake(_: int) -> Iterator[str]:
    with kfake_cluster() as port:
        yield f"127.0.0.1:{port}"


@contextmanager
def _librdkafka(_: int) -> Iterator[str]:
    with librdkafka_mock(RDKAFKA) as port:
        yield f"127.0.0.1:{port}"


@contextmanager
def _tansu(base: int) -> Iterator[str]:
    with tansu(base):
        yield f"{HOST}:{base}"


@contextmanager
def _seaweedfs(base: int) -> Iterator[str]:
    with seaweedfs(base) as port:
        yield f"{HOST}:{port}"


_CONSUMER_GROUPS = {"group.coordinator.rebalance.protocols": "classic,consumer"}
BROKERS = {
    "kafka-2.8.2": Tested(
        "Apache Kafka 2.8.2", "ZooKeeper", partial(_kafka, Spec("2.8.2", zookeeper=True))
    ),
    "kafka-3.9.2": Tested(
        "Apache Kafka 3.9.2", "KRaft, `group.coordinator.rebalance.protocols=classic,consumer`",
        partial(_kafka, Spec("3.9.2", properties=_CONSUMER_GROUPS)),
    ),
    "kafka-4.0.2": Tested(
        "Apache Kafka 4.0.2", "KRaft, `group.share.enable=true`",
        partial(_kafka, Spec("4.0.2", properties={"group.share.enable": "true"})),
    ),
    "kafka-4.2.1": Tested("Apache Kafka 4.2.1", "KRaft", partial(_kafka, Spec("4.2.1"))),
    "kafka-4.4.0": Tested("Apache Kafka 4.4.0", "KRaft", partial(_kafka, Spec("4.4.0"))),
    "controller-4.4.0": Tested(
        "controller of Kafka 4.4.0", "KRaft, the listener of the controller",
        partial(_kafka, Spec("4.4.0"), role=CONTROLLER),
    ),
    "tansu": Tested(f"Tansu {TANSU}", "storage in memory", _tansu),
    "seaweedfs": Tested("SeaweedFS", f"gateway of `weed`, v{SEAWEEDFS}", _seaweedfs),
    "kfake": Tested("kfake", "franz-go, one broker", _kfake),
    "librdkafka-mock": Tested(
        "librdkafka mock", f"confluent-kafka {RDKAFKA}, `test.mock.num.brokers=1`", _librdkafka
    ),
}  # fmt: skip
"""Brokers by the name that the command line has for them. KRaft ones have `unstable.api.versions.enable`."""
