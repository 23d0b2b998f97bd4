"""Apache Kafka 4.4.0, one KRaft node, kafka-python: every call of its admin client, by a user who logged
in with SASL PLAIN; then records written and read by a user of PLAIN and SCRAM-SHA-256 and SCRAM-SHA-512.
"""

from captures.record.lab import Lab
from captures.record.pythons import kafka_python
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_kp3_admin"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Administer, then authenticate in each way."""
    _stories.administer(lab, kafka_python())
    _stories.authenticate(lab, kafka_python(), "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
