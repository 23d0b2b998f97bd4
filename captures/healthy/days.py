"""What each client library does on a healthy day, and the releases of Apache Kafka it does it with."""

from collections.abc import Callable
from typing import NamedTuple

from captures.record.client_runs import Step
from captures.record.drivers import Driver
from captures.record.golang import franz, sarama, segmentio
from captures.record.java import java
from captures.record.nodejs import kafkajs, platformatic
from captures.record.pythons import aiokafka, kafka_python, librdkafka

RELEASES = ("2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2",
            "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")  # fmt: skip
"""A patch release of each minor release from 2.8 to 4.4."""

_TOPIC, _LEDGER, _COUNT = "orders", "ledger", 6
_WRITES: Step = ("produce", {"topic": _TOPIC, "label": "grouped"})
_IDEMPOTENT: Step = ("produce", {"topic": _TOPIC, "label": "once", "idempotent": "yes"})
_READS: Step = ("group", {"topic": _TOPIC, "group": "readers", "count": _COUNT})
_MOVES: Step = ("transactions", {"topic": _LEDGER, "id": "ledger-tx", "group": "mover"})


class Client(NamedTuple):
    """A client library: its driver, its steps in their order, and the oldest release that it takes."""

    driver: Callable[[], Driver]
    steps: tuple[Step, ...]
    oldest: str = "2.8"


CLIENTS = {
    "java": Client(
        java,
        (
            ("Produce", {"topic": _TOPIC, "count": _COUNT}),
            ("Consume", {"topic": _TOPIC, "group": "readers", "count": _COUNT, "commit": "true"}),
            ("Transact", {"topic": _LEDGER, "transactional-id": "ledger-tx"}),
        ),
    ),
    "rdkafka": Client(librdkafka, (_WRITES, _READS, _MOVES)),
    "franz": Client(franz, (_WRITES, _READS, _MOVES)),
    "sarama": Client(sarama, (_WRITES, _READS, _MOVES)),
    "segmentio": Client(segmentio, (_WRITES, _READS)),
    "kafka-python": Client(kafka_python, (_WRITES, _READS, _MOVES)),
    "aiokafka": Client(aiokafka, (_WRITES, _READS, _MOVES)),
    "kafkajs": Client(kafkajs, (_WRITES, _IDEMPOTENT, _READS, _MOVES)),
    "platformatic": Client(platformatic, (_WRITES, _IDEMPOTENT, _READS, _MOVES), "3.1"),
}


def clients_of(release: str) -> list[str]:
    """Return the client libraries that take a release."""
    return [name for name, client in CLIENTS.items() if client.oldest <= release]
