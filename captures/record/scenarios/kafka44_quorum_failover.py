"""Apache Kafka 4.4.0, three KRaft nodes, each broker and controller, captured on every port from the
start: the quorum is elected, brokers register, a replicated topic is written; the active controller is
stopped, a follower is killed, both come back; partitions are reassigned, leaders elected, share and
transaction state is kept on replicated topics; a fourth controller joins the voters with other endpoints
(KIP-853) and leaves again, and a broker is unregistered.
"""

from captures.record.broker import directory_id
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.quorum import work
from captures.record.spec import CONTROLLER, HOST, Node, Spec, properties

NAME = "kafka44_quorum_failover"
BROKER = Spec(
    "4.4.0",
    nodes=3,
    sniff="all",
    from_start=True,
    properties={
        "default.replication.factor": "3",
        "min.insync.replicas": "1",
        "num.partitions": "2",
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "replica.lag.time.max.ms": "3000",
        "broker.session.timeout.ms": "4000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
    },
)


def run(lab: Lab) -> None:
    """Work, fail over, change the quorum."""
    client = java("4.4.0")
    work(lab, "4.4.0", "first")
    lab.run_driver(
        client,
        "AdminTopics",
        client_id="mover",
        topic="moved",
        brokers=3,
        dir=lab.cluster.nodes[0].home,
    )
    for number, kill in ((1, False), (2, True)):
        lab.cluster.stop_node(number, kill=kill)
        lab.truth.note(f"node {number} was {'killed' if kill else 'stopped'}")
        work(lab, "4.4.0", f"without-{number}")
        lab.cluster.launch(number)
        lab.cluster.wait_ready(number)
    _voters(lab)


def _voters(lab: Lab) -> None:
    client, cluster = java("4.4.0"), lab.cluster
    fourth = Node(4, cluster.base)
    content = properties(cluster.spec, fourth) | {
        "process.roles": "controller",
        "listeners": f"CONTROLLER://{HOST}:{fourth.port(CONTROLLER)}",
    }
    for absent in ("inter.broker.listener.name",):
        content.pop(absent)
    cluster.configure(fourth, content)
    cluster.format(fourth, "--no-initial-controllers")
    cluster.launch(4)
    cluster.wait_ready(4)
    directory = _directory(lab, fourth)
    change = {"id": 4, "directory": directory, "port": fourth.port(CONTROLLER)}
    lab.run_driver(client, "AdminVoters", client_id="adder", what="add", **change)
    moved = Node(5, cluster.base).port(CONTROLLER)
    cluster.configure(fourth, content | {"listeners": f"CONTROLLER://{HOST}:{moved}"})
    cluster.restart_node(4)
    lab.truth.note("controller 4 came back on another port")
    lab.run_driver(client, "AdminVoters", client_id="remover", what="remove", **change)
    cluster.stop_node(4)
    lab.run_driver(client, "UnregisterController", client_id="unregister-controller", id=4)
    cluster.stop_node(3, kill=True)
    lab.run_driver(
        client,
        "AdminVoters",
        client_id="remover-3",
        what="remove",
        id=3,
        directory=directory_id(cluster.nodes[2]),
    )
    lab.run_driver(client, "AdminVoters", client_id="unregister-broker", what="unregister-broker", id=3)


def _directory(lab: Lab, node: Node) -> str:
    lines = (node.home / "d1" / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("directory.id"))
