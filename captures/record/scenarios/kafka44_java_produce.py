"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: producers with acks 0, 1 and all, without
compression and with the four codecs, with keys, headers and tombstones; then one consumer without a group
reads it all.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_produce"
BROKER = Spec("4.4.0")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def run(lab: Lab) -> None:
    """Send to one topic per codec and one per acks, then read all."""
    client = java("4.4.0")
    topics = []
    for codec in _CODECS:
        topics.append(f"codec-{codec}")
        properties = {"compression.type": codec, "acks": "all"}
        lab.run_driver(
            client,
            "Produce",
            client_id=f"p-{codec}",
            topic=topics[-1],
            count=6,
            headers="true",
            properties=properties,
        )
    for acks in ("0", "1", "all"):
        topics.append(f"acks-{acks}")
        properties = {"acks": acks, "enable.idempotence": "false"}
        lab.run_driver(
            client,
            "Produce",
            client_id=f"p-acks-{acks}",
            topic=topics[-1],
            count=4,
            tombstones="true",
            properties=properties,
        )
    lab.run_driver(client, "Consume", client_id="reader", topic=",".join(topics), count=6 * 5 + 4 * 3)
