"""Apache Kafka 4.4.0, one KRaft node, kafkajs: producers with acks 0, 1 and all and with the codecs it has
(none and gzip: the others are plugins); keys, null values, headers, old timestamps. Each topic is read
back without a group.
"""

from captures.record.lab import Lab
from captures.record.nodejs import kafkajs
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_kafkajs_produce"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One topic a codec and one a kind of acks."""
    _stories.produce(lab, kafkajs(), codecs=("none", "gzip"))
    _stories.write_and_read(lab, kafkajs(), "idempotent", idempotent="yes")
