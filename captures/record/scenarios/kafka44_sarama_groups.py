"""Apache Kafka 4.4.0, one KRaft node, sarama: groups of two members, who join, rebalance, commit and
leave: range, sticky and static members.
"""

from captures.record.golang import sarama
from captures.record.lab import Lab
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_sarama_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """One group after the other on the same records."""
    _stories.groups(
        lab,
        sarama(),
        {"group": "range"},
        {"group": "sticky", "balancer": "sticky"},
        {"group": "static", "instance": "one"},
    )
