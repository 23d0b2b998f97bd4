"""Apache Kafka 4.4.0, one KRaft node, aiokafka: every call of its admin client, by a user who logged in
with SASL PLAIN; then records written and read by a user of PLAIN and SCRAM-SHA-256 and SCRAM-SHA-512.
"""

from captures.record.lab import Lab
from captures.record.pythons import aiokafka
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_aiokafka_admin"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Administer, then authenticate in each way."""
    _stories.administer(lab, aiokafka())
    _stories.authenticate(lab, aiokafka(), "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
