"""Apache Kafka 4.4.0, one KRaft node, aiokafka: groups of two members, who join, rebalance, commit and
leave: dynamic and static members.
"""

from captures.record.lab import Lab
from captures.record.pythons import aiokafka
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_aiokafka_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One group after the other on the same records."""
    _stories.groups(
        lab,
        aiokafka(),
        {"group": "plain"},
        {"group": "static", "instance": "one"},
    )
