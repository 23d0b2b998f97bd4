"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: the same orders in JSON, produced four ways, each to
a topic of its own: uncompressed in batches of one record, with zstd in batches of one, uncompressed in
batches of 16 KiB, and with zstd in such batches. What compression and larger batches save can be measured
on it.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_savings"
BROKER = Spec("4.4.0")
_COUNT = 120
_ONE_EACH = {"batch.size": "1", "linger.ms": "0"}
_LARGE = {"batch.size": "16384", "linger.ms": "1000"}


def run(lab: Lab) -> None:
    """Write the same records four times."""
    client = java("4.4.0")
    ways = {"as-is": _ONE_EACH, "as-zstd": _ONE_EACH, "as-large": _LARGE, "as-large-zstd": _LARGE}
    for topic, properties in ways.items():
        codec = {"compression.type": "zstd" if topic.endswith("zstd") else "none"}
        lab.run_driver(
            client,
            "Produce",
            client_id=f"produces-{topic}",
            topic=topic,
            count=_COUNT,
            orders="true",
            properties=properties | codec,
        )
    sent = lab.truth.content["records"]["sent"]
    assert len({(record["key"], record["value"]) for record in sent}) == _COUNT, "the same each time"
    sent[:] = [record for record in sent if record["topic"] == "as-is"]  # those of the others are equal
    lab.truth.note("the records of as-zstd, as-large and as-large-zstd are those of as-is")
