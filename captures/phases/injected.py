"""Faults that make a broker slow, and the phase of its request log in which the time must then be."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.drivers import Running
from captures.record.java import extensions, java
from captures.record.spec import Spec

TOPIC = "orders"
_VERSION = "4.4.0"
_SECONDS = 20
# Java syncs its files by fsync and fdatasync (sun.nio.ch.FileDispatcherImpl).
_SHIM = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int late(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    usleep(250000);
    return real(fd);
}
int fsync(int fd) { return late("fsync", fd); }
int fdatasync(int fd) { return late("fdatasync", fd); }
"""


@dataclass(frozen=True)
class Injected:
    """`trouble` runs with the cluster while a producer sends. `cause` and `words` are what `why` must say."""

    cause: str
    words: str
    trouble: Callable[[Cluster, threading.Event], None]
    nodes: int = 1
    is_disk_slow: bool = False
    topic: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)


def _nothing(cluster: Cluster, over: threading.Event) -> None:
    over.wait()


def _follower_sleeps(cluster: Cluster, over: threading.Event) -> None:
    """Let the follower have no CPU for 1.2 of each 2 seconds, so that it stays in sync."""
    while not over.wait(0.8):
        cluster.freeze(2)
        over.wait(1.2)
        cluster.thaw(2)


def _threads_are_busy(cluster: Cluster, over: threading.Event) -> None:
    """Have the only request thread compress large batches of another client."""
    text = b"".join(number.to_bytes(4) for number in range(200_000))
    heavy = _producer(cluster, "batch-job", linger_ms=0, batch_size=900_000, max_request_size=950_000)
    while not over.is_set():
        heavy.send("archive", text).get(30)
    heavy.close()


def _quota_is_low(cluster: Cluster, over: threading.Event) -> None:
    """Allow the producer 60 bytes a second."""
    command = [*java().command, cluster.bootstrap, "Quota", "--client-id", "setup"]
    command += ["--of", "shop", "--quota", "producer_byte_rate", "--rate", "60"]
    Running(command, lambda event: None).wait(60)
    over.wait()


INJECTED = {
    "slow-disk": Injected(
        "slow-broker",
        "% in the broker's own work",
        _nothing,
        is_disk_slow=True,
        topic={"flush.messages": "1"},
    ),
    "slow-follower": Injected("slow-broker", "% waiting for other brokers", _follower_sleeps, nodes=2),
    "full-request-queue": Injected(
        "slow-broker", "% in the request queue", _threads_are_busy, broker={"num.io.threads": "1"}
    ),
    "quota": Injected("throttled-produce", "quota", _quota_is_low),
}


def run(injected: Injected, base: int) -> bytes:
    """Return the request log of node 1."""
    spec = Spec(_VERSION, nodes=injected.nodes, request_log=True, properties=dict(injected.broker))
    cluster = Cluster(spec, base, extensions())
    with _slow_disk() if injected.is_disk_slow else _as_it_is():
        cluster.start()
    try:
        _create(cluster, injected)
        over = threading.Event()
        trouble = threading.Thread(target=injected.trouble, args=(cluster, over))
        trouble.start()
        try:
            _send(cluster)
        finally:
            over.set()
            trouble.join()
        return cluster.request_log(1).read_bytes()
    finally:
        cluster.close()


def _create(cluster: Cluster, injected: Injected) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap, client_id="setup")
    copies = injected.nodes
    # The leader is node 1, whose log is kept.
    orders = NewTopic(
        TOPIC, replica_assignments={0: list(range(1, copies + 1))}, topic_configs=dict(injected.topic)
    )
    settings = {"compression.type": "gzip", "compression.gzip.level": "9"}
    archive = NewTopic("archive", replica_assignments={0: [1]}, topic_configs=settings)
    admin.create_topics([orders, archive])
    admin.close()


def _send(cluster: Cluster) -> None:
    producer = _producer(cluster, "shop")
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        producer.send(TOPIC, b"an order").get(30)
        time.sleep(0.05)
    producer.close()


def _producer(cluster: Cluster, client_id: str, **options: int) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=cluster.bootstrap, client_id=client_id, acks="all", **options)


@contextmanager
def _slow_disk() -> Iterator[None]:
    """Start servers whose every sync of a file takes 250 ms more."""
    home = workshop.folder("run", "slow-disk", fresh=True)
    (home / "late.c").write_text(_SHIM)
    workshop.run(["gcc", "-shared", "-fPIC", "-o", str(home / "late.so"), str(home / "late.c"), "-ldl"])
    os.environ["LD_PRELOAD"] = str(home / "late.so")
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
