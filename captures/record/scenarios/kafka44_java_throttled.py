"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a producer and a consumer above the byte rates that
quotas allow their client ids are throttled (KIP-219).
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_throttled"
BROKER = Spec("4.4.0", properties={"quota.window.num": "2"})
_RATE, _SIZE, _COUNT = 1000, 700, 6


def run(lab: Lab) -> None:
    """Quotas, then one that writes and one that reads too much."""
    client = java("4.4.0")
    for of, quota in (("hasty-producer", "producer_byte_rate"), ("hasty-consumer", "consumer_byte_rate")):
        lab.run_driver(client, "Quota", client_id="admin", of=of, quota=quota, rate=_RATE)
    one_each = {"batch.size": "1", "linger.ms": "0", "max.in.flight.requests.per.connection": "1"}
    for name in ("calm-producer", "hasty-producer"):
        lab.run_driver(
            client, "Produce", client_id=name, topic="bulk", count=_COUNT, size=_SIZE, properties=one_each
        )
    for name in ("calm-consumer", "hasty-consumer"):
        lab.run_driver(
            client,
            "Consume",
            client_id=name,
            topic="bulk",
            group=name,
            count=2 * _COUNT,
            properties={"max.partition.fetch.bytes": str(_SIZE)},
        )
