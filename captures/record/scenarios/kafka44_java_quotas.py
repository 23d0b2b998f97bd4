"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: quotas that are not of bytes, and too few fetch
sessions. A consumer takes more of the broker's time than its client id may (request_percentage), and an admin
creates more partitions than he may (controller_mutation_rate, KIP-599). The broker keeps eight fetch
sessions, one in each shard: a consumer is refused one.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_quotas"
BROKER = Spec(
    "4.4.0",
    properties={
        "quota.window.num": "2",
        "controller.quota.window.num": "2",
        "max.incremental.fetch.session.cache.slots": "8",
        "min.incremental.fetch.session.eviction.ms": "500",
    },
)


def run(lab: Lab) -> None:
    """Quotas, then who is above them; then two readers and one session."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="shared", count=8)
    lab.run_driver(client, "Quota", client_id="quotas", of="busy", quota="request_percentage", rate=1)
    lab.run_driver(
        client, "Quota", client_id="quotas", of="creator", quota="controller_mutation_rate", rate=1
    )
    hasty = {"fetch.max.wait.ms": "1", "max.poll.records": "1", "max.partition.fetch.bytes": "1"}
    lab.run_driver(client, "Consume", client_id="busy", topic="shared", polls=30, properties=hasty)
    for number in range(4):
        lab.run_driver(
            client,
            "CreateTopic",
            client_id="creator",
            topic=f"wide-{number}",
            partitions=4,
            properties={"request.timeout.ms": "10000", "default.api.timeout.ms": "20000"},
        )
    _evict(lab)


def _evict(lab: Lab) -> None:
    client = java("4.4.0")
    few = [
        lab.start_driver(client, "Consume", client_id=f"few-{number}", topic="shared", wait="true")
        for number in range(5)
    ]
    for reader in few:
        reader.until("read", 8)
    many = [
        lab.start_driver(
            client, "Consume", client_id=f"many-{number}", topic="wide-0", partitions=4, polls=12
        )
        for number in range(4)
    ]
    for reader in many:
        reader.wait()
    for reader in few:
        reader.stop()
