"""Apache Kafka 2.8.2 with ZooKeeper, two brokers that replicate, captured between the brokers from their
start: a rolling upgrade of inter.broker.protocol.version from 0.8.2 to 2.8. At every step the brokers
restart one after the other (ControlledShutdown, LeaderAndIsr, UpdateMetadata), a replicated topic is
written (follower fetches) and deleted (StopReplica). The message format follows the protocol version:
followers fetch magic 0, 1 and 2.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec, properties

NAME = "kafka28_zookeeper_upgrade"
_STEPS = (
    "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0-IV0", "0.11.0", "1.0", "1.1",
    "2.0", "2.1", "2.2", "2.3", "2.4-IV0", "2.4", "2.6", "2.7", "2.8",
)  # fmt: skip
_TRANSACTIONAL = _STEPS[_STEPS.index("0.11.0") :: 2]
_BASE = {"default.replication.factor": "2", "min.insync.replicas": "1"}


def _protocol(step: str) -> dict[str, str]:
    format_version = step.partition("-")[0]
    return {**_BASE, "inter.broker.protocol.version": step, "log.message.format.version": format_version}


BROKER = Spec(
    "2.8.2",
    nodes=2,
    zookeeper=True,
    sniff="all",
    from_start=True,
    one_listener=True,
    properties=_protocol(_STEPS[0]),
)


def run(lab: Lab) -> None:
    """Each protocol version in turn: write, delete, upgrade."""
    client = java("2.8.2")
    for step in _STEPS:
        if step != _STEPS[0]:
            _upgrade(lab, step)
        name = "ibp-" + step.replace(".", "-")
        lab.run_driver(
            client,
            "Produce",
            client_id=name,
            topic=name,
            count=3,
            properties={"acks": "all", "enable.idempotence": "false"},
        )
        if step in _TRANSACTIONAL:
            lab.run_driver(
                client,
                "Transact",
                client_id=f"{name}-txn",
                transactional_id=name,
                topic="kept",
                count=2,
                plan="commit,abort",
            )
        lab.run_driver(client, "DeleteTopic", client_id=f"{name}-admin", topic=name)


def _upgrade(lab: Lab, step: str) -> None:
    cluster = lab.cluster
    for node in cluster.nodes:
        cluster.configure(node, properties(cluster.spec, node) | _protocol(step))
        cluster.restart_node(node.id)
    lab.truth.note(f"the brokers now speak inter.broker.protocol.version {step}")
