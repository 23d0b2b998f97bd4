"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: client metrics (KIP-714). The broker subscribes
to metrics of producers and consumers every second; both push them, compressed as the broker offers, and
once more when they end.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_telemetry"
BROKER = Spec("4.4.0")


def run(lab: Lab) -> None:
    """Subscribe, then let a producer and a consumer live long enough to push."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="before", topic="measured", count=5)
    lab.run_driver(client, "AdminModern", client_id="subscriber", topic="measured")
    for codec in ("none", "zstd"):
        lab.run_driver(
            client,
            "Consume",
            client_id=f"measured-{codec}",
            topic="measured",
            group=f"measured-{codec}",
            polls=12,
            properties={"heartbeat.interval.ms": "1000"},
        )
    lab.run_driver(client, "Produce", client_id="measured-producer", topic="measured", count=5)
