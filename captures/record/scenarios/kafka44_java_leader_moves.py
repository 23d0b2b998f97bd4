"""Apache Kafka 4.4.0, three KRaft nodes, Java client 4.4.0: the leader moves under an idempotent producer. It
writes record after record to three partitions while a node is killed and another is stopped, and loses and
repeats nothing; a consumer reads all of it afterwards.
"""

import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_leader_moves"
BROKER = Spec(
    "4.4.0",
    nodes=3,
    properties={
        "default.replication.factor": "3",
        "num.partitions": "3",
        "min.insync.replicas": "1",
        "replica.lag.time.max.ms": "3000",
        "broker.session.timeout.ms": "4000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
    },
)
_COUNT, _PACE_MS = 60, 300


def run(lab: Lab) -> None:
    """One that writes all the time, and nodes that go."""
    client = java("4.4.0")
    lab.run_driver(client, "CreateTopic", client_id="creator", topic="moves", partitions=3, copies=3)
    patient = {"acks": "all", "linger.ms": "0", "request.timeout.ms": "3000", "delivery.timeout.ms": "60000"}
    writes = lab.start_driver(
        client,
        "Produce",
        client_id="writes",
        topic="moves",
        count=_COUNT,
        keys=_COUNT,
        pace=_PACE_MS,
        properties=patient,
    )
    time.sleep(_COUNT * _PACE_MS / 3000)
    lab.cluster.stop_node(2, kill=True)
    lab.truth.note("node 2 was killed")
    lab.cluster.launch(2)
    lab.cluster.wait_ready(2)
    lab.cluster.stop_node(3)
    lab.truth.note("node 3 was stopped")
    lab.cluster.launch(3)
    writes.wait()
    lab.cluster.wait_ready(3)
    lab.run_driver(client, "Consume", client_id="reads", topic="moves", partitions=3, count=_COUNT)
