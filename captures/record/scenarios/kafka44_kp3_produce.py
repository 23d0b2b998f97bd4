"""Apache Kafka 4.4.0, one KRaft node, kafka-python: producers with acks 0, 1 and all and with the codecs
it has (none, gzip, snappy, lz4, zstd); keys, null values, headers, old timestamps. Each topic is read back
without a group.
"""

from captures.record.lab import Lab
from captures.record.pythons import kafka_python
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_kp3_produce"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One topic a codec and one a kind of acks."""
    _stories.produce(lab, kafka_python())
    _stories.write_and_read(lab, kafka_python(), "idempotent", idempotent="yes")
