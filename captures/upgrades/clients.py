"""The clients of the check, and the releases of Apache Kafka that they run with."""

from collections.abc import Callable
from typing import NamedTuple

from captures.record.client_runs import Step
from captures.record.drivers import Driver
from captures.record.golang import franz, sarama
from captures.record.java import java
from captures.record.pythons import release

SOURCES = ("2.8.2", "3.9.2", "4.4.0")
"""Releases whose captures `kdissect upgrade` judges."""
TARGETS = ("3.9.2", "4.0.2", "4.1.2")
RELEASES = ("2.8.2", "3.9.2", "4.0.2", "4.1.2", "4.4.0")

COUNT = 4
_WRITES: Step = ("writes", {"topic": "orders", "count": COUNT, "burst": COUNT})
_READS: Step = ("reads", {"topic": "orders", "group": "readers", "count": COUNT})
_JAVA_WRITES: Step = ("Produce", {"topic": "orders", "count": COUNT})
_TRANSACTIONS: tuple[Step, ...] = (
    ("Transact", {"topic": "orders", "transactional-id": "tx"}),
    (
        "Consume",
        {"topic": "orders", "group": "readers", "count": COUNT, "set": "isolation.level=read_committed"},
    ),
)
_JAVA_READS: Step = ("Consume", {"topic": "orders", "group": "readers", "count": COUNT, "commit": "true"})


class Client(NamedTuple):
    """A client: its driver, its steps, and its name in the table.

    `reads` is the number of records that it reads if it works. With `together` the steps run at one time.
    """

    driver: Callable[[], Driver]
    steps: tuple[Step, ...]
    title: str
    reads: int = COUNT
    together: bool = False


def _python(client: str, version: str, title: str, *settings: str) -> Client:
    # The drivers take several settings as one option, a line each.
    more = {"set": "\n".join(settings)} if settings else {}
    steps = tuple((action, options | more) for action, options in (_WRITES, _READS))
    return Client(lambda: release(client, version), steps, title)


def _java(version: str, *steps: Step, title: str = "", together: bool = False) -> Client:
    return Client(
        lambda: java(version), steps or (_JAVA_WRITES, _JAVA_READS), title or f"Java {version}",
        together=together,
    )  # fmt: skip


def _go(driver: Callable[[], Driver], maximum: str, title: str) -> Client:
    steps = (
        ("produce", {"topic": "orders", "label": "orders", "max": maximum, "headers": "no", "codec": "gzip"}),
        ("group", {"topic": "orders", "group": "readers", "max": maximum}),
    )
    return Client(driver, steps, f"{title} {maximum}")


CLIENTS = {
    "kafka-python-1-4-7": _python("kafka_python", "1.4.7", "kafka-python 1.4.7"),
    "kafka-python-2-0-2": _python("kafka_python", "2.0.2", "kafka-python 2.0.2"),
    "aiokafka": _python("aiokafka_", "0.14.0", "aiokafka 0.14.0"),
    "rdkafka-2-0-2": _python("librdkafka", "2.0.2", "librdkafka 2.0.2"),
    "rdkafka-fallback": _python(
        "librdkafka", "2.0.2", "librdkafka 2.0.2, api.version.request=false, broker.version.fallback=0.9.0",
        "api.version.request=false", 'broker.version.fallback="0.9.0"',
    ),
    "rdkafka-2-16-1": _python("librdkafka", "2.16.1", "librdkafka 2.16.0"),
    "sarama-0-10-2": _go(sarama, "0.10.2.0", "sarama, Version"),
    "sarama-0-11-0": _go(sarama, "0.11.0.0", "sarama, Version"),
    "sarama-1-0-0": _go(sarama, "1.0.0", "sarama, Version"),
    "sarama-2-8-0": _go(sarama, "2.8.0", "sarama, Version"),
    "franz-0-10-2": _go(franz, "0.10.2", "franz-go, MaxVersions"),
    "franz-2-0": _go(franz, "2.0", "franz-go, MaxVersions"),
    "java-0-10-2-2": _java("0.10.2.2"),
    "java-0-11-0-3": _java("0.11.0.3"),
    "java-1-1-1": _java("1.1.1"),
    "java-2-8-2": _java("2.8.2"),
    "java-3-9-2": _java("3.9.2"),
    "java-3-9-2-transactions": _java("3.9.2", *_TRANSACTIONS, title="Java 3.9.2, transactions"),
    "java-4-4-0": _java("4.4.0"),
    "java-4-4-0-transactions": _java("4.4.0", *_TRANSACTIONS, title="Java 4.4.0, transactions"),
    "java-4-4-0-consumer": _java(
        "4.4.0",
        _JAVA_WRITES,
        ("Consume", _JAVA_READS[1] | {"set": "group.protocol=consumer"}),
        title="Java 4.4.0, group.protocol=consumer",
    ),
    "java-4-4-0-share": _java(
        "4.4.0",
        # A new share group begins at the end of the log: the producer writes while it reads.
        ("ShareConsume", {"topic": "orders", "group": "sharers", "count": COUNT, "polls": 60}),
        ("Produce", {"topic": "orders", "count": 10, "pace": 2000}),
        title="Java 4.4.0, share consumer",
        together=True,
    ),
}  # fmt: skip
