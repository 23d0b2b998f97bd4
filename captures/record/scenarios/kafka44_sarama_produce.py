"""Apache Kafka 4.4.0, one KRaft node, sarama: producers with acks 0, 1 and all and with the codecs it has
(none, gzip, snappy, lz4, zstd); keys, null values, headers, old timestamps. Each topic is read back
without a group.
"""

from captures.record.golang import sarama
from captures.record.lab import Lab
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_sarama_produce"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One topic a codec and one a kind of acks."""
    _stories.produce(lab, sarama())
    _stories.write_and_read(lab, sarama(), "idempotent", idempotent="yes")
