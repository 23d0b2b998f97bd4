"""Apache Kafka 4.4.0, one KRaft node, librdkafka: groups of two members, who join, rebalance, commit and
leave: classic with range, cooperative and static members, and KIP-848 with client metrics (KIP-714). Then
a share group (KIP-932).
"""

from captures.record.lab import Lab
from captures.record.pythons import librdkafka
from captures.record.scenarios import _stories
from captures.record.spec import Spec

NAME = "kafka44_rdkafka_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "2", "metric.reporters": "TelemetryReceiver"})


def run(lab: Lab) -> None:
    """One group after the other on the same records."""
    _stories.groups(
        lab,
        librdkafka(),
        {"group": "range"},
        {"group": "coop", "balancer": "cooperative-sticky"},
        {"group": "static", "balancer": "roundrobin", "instance": "one"},
        {"group": "served", "protocol": "consumer", "metrics": "yes"},
    )
    lab.run_driver(librdkafka(), "share", client_id="share", group="share", topic="shared")
