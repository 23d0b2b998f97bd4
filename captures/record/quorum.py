"""What quorums of three KRaft nodes go through in the scenarios that compare versions of the broker."""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

_PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "1",
    "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "metadata.log.max.record.bytes.between.snapshots": "1000",
}


def spec(version: str, release: str = "") -> Spec:
    """Three nodes, captured on every port from the start; snapshots of the metadata come early."""
    return Spec(version, nodes=3, sniff="all", from_start=True, release=release, properties=_PROPERTIES)


def life(lab: Lab, client_version: str, *, brief: bool = False) -> None:
    """Write a replicated topic, stop a node and start it again, and kill the next one unless `brief`."""
    work(lab, client_version, "first")
    for number, kill in ((1, False), (2, True))[: 1 if brief else 2]:
        lab.cluster.stop_node(number, kill=kill)
        lab.truth.note(f"node {number} was {'killed' if kill else 'stopped'}")
        work(lab, client_version, f"without-{number}")
        lab.cluster.launch(number)
        lab.cluster.wait_ready(number)


def work(lab: Lab, version: str, name: str) -> None:
    """Write and read records, in transactions and without; `name` is part of the client ids."""
    client = java(version)
    lab.run_driver(
        client, "Produce", client_id=f"{name}-producer", topic="kept", count=4, properties={"acks": "all"}
    )
    lab.run_driver(
        client,
        "Transact",
        client_id=f"{name}-txn",
        transactional_id=name,
        topic="kept",
        count=2,
        plan="commit,abort",
    )
    lab.run_driver(
        client, "Consume", client_id=f"{name}-reader", topic="kept", group="readers", count=4, commit="true"
    )
