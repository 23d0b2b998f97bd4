"""Apache Kafka 4.4.0, three KRaft nodes in three racks, Java client 4.4.0: consumers read from the replica of
their own rack (KIP-392), one without a rack from the leader. Then a node is killed under a consumer, a
producer writes to what is left, and one that wants all three replicas is refused (NOT_ENOUGH_REPLICAS).
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_racks"
BROKER = Spec(
    "4.4.0",
    nodes=3,
    racks=True,
    properties={
        "default.replication.factor": "3",
        "min.insync.replicas": "1",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "replica.lag.time.max.ms": "3000",
        "broker.session.timeout.ms": "4000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
    },
)
_NODES = (1, 2, 3)


def run(lab: Lab) -> None:
    """Write, read from near and far, lose a node."""
    client = java("4.4.0")
    lab.run_driver(
        client, "CreateTopic", client_id="creator", topic="strict", copies=3, configs="min.insync.replicas=3"
    )
    lab.run_driver(client, "Produce", client_id="producer", topic="near", count=6, properties={"acks": "all"})
    for number in _NODES:
        rack = {"client.rack": f"rack-{number}"}
        lab.run_driver(
            client, "Consume", client_id=f"in-rack-{number}", topic="near", polls=8, properties=rack
        )
    lab.run_driver(client, "Consume", client_id="in-no-rack", topic="near", polls=4)
    _lose(lab)


def _lose(lab: Lab) -> None:
    client = java("4.4.0")
    steady = lab.start_driver(
        client, "Consume", client_id="steady", topic="near", group="steady", wait="true"
    )
    steady.until("read", 6)
    lab.cluster.stop_node(2, kill=True)
    lab.truth.note("node 2 was killed")
    patient = {"acks": "all", "delivery.timeout.ms": "30000", "request.timeout.ms": "5000"}
    lab.run_driver(client, "Produce", client_id="after", topic="near", count=3, properties=patient)
    hasty = {"acks": "all", "delivery.timeout.ms": "3000", "request.timeout.ms": "2000", "linger.ms": "0"}
    lab.run_driver(client, "Produce", client_id="wants-all", topic="strict", count=1, properties=hasty)
    steady.stop()
    lab.cluster.launch(2)
    lab.cluster.wait_ready(2)
