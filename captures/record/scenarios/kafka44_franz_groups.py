"""Apache Kafka 4.4.0, one KRaft node, franz-go in groups of two members, who join, rebalance, commit and
leave: classic with range, cooperative and static members, and KIP-848 where the broker assigns. Then a
share group (KIP-932) that accepts, releases and rejects records; client metrics are pushed (KIP-714).
"""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.scenarios._members import two_members
from captures.record.spec import Spec

NAME = "kafka44_franz_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "2", "metric.reporters": "TelemetryReceiver"})


def run(lab: Lab) -> None:
    """Write once, then read in one group after the other."""
    client = franz()
    lab.run_driver(client, "produce", client_id="writer", topic="shared", label="grouped")
    common = {"topic": "shared", "count": 6}
    two_members(lab, client, "range", group="range", balancer="range", **common)
    two_members(lab, client, "coop", group="coop", balancer="cooperative", **common)
    lab.run_driver(
        client, "group", client_id="static", group="static", balancer="sticky", instance="one", **common
    )
    served = {"server_side": "yes", "metrics": "yes"}
    two_members(lab, client, "served", group="served", **common, **served)
    lab.run_driver(client, "share", client_id="share", group="share", **common)
