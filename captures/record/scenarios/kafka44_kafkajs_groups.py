"""Apache Kafka 4.4.0, one KRaft node, kafkajs: groups of two members, who join, rebalance, commit and
leave: round robin.
"""

from captures.record.lab import Lab
from captures.record.nodejs import kafkajs
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_kafkajs_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One group after the other on the same records."""
    _stories.groups(
        lab,
        kafkajs(),
        {"group": "plain"},
    )
