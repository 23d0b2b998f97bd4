"""Apache Kafka 3.9.2 with ZooKeeper, three brokers that replicate, captured between the brokers from their
start: a topic is written, the brokers are upgraded one by one from inter.broker.protocol.version 3.2 to
3.9, the first broker is killed and comes back, the topic is deleted: the last versions of LeaderAndIsr,
StopReplica, UpdateMetadata and ControlledShutdown.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec, properties

NAME = "kafka39_zookeeper_pair"
BROKER = Spec(
    "3.9.2",
    nodes=3,
    zookeeper=True,
    sniff="all",
    from_start=True,
    properties={"default.replication.factor": "3", "inter.broker.protocol.version": "3.2"},
)


def run(lab: Lab) -> None:
    """Write, upgrade, fail over, delete."""
    client = java("3.9.2")
    lab.run_driver(client, "Produce", client_id="before", topic="kept", count=5)
    lab.run_driver(
        client,
        "Transact",
        client_id="transactor",
        topic="kept",
        count=2,
        plan="commit,abort",
        transactional_id="zk-txn",
    )
    for node in lab.cluster.nodes:
        upgraded = properties(BROKER, node) | {"inter.broker.protocol.version": "3.9"}
        lab.cluster.configure(node, upgraded)
        lab.cluster.restart_node(node.id)
    lab.cluster.stop_node(1, kill=True)
    lab.truth.note("broker 1 was killed")
    lab.run_driver(client, "Produce", client_id="after", topic="kept", count=5)
    lab.cluster.launch(1)
    lab.cluster.wait_ready(1)
    lab.run_driver(client, "OldAdmin", client_id="admin", topic="kept", group="none")
