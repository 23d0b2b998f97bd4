"""Apache Kafka 4.4.0, one KRaft node, kafka-python: a transaction that commits, with offsets of a group,
and one that aborts; both read with and without read_committed.
"""

from captures.record.lab import Lab
from captures.record.pythons import kafka_python
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_kp3_transactions"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Transact, then read what is visible."""
    _stories.transactions(lab, kafka_python())
