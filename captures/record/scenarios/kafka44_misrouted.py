"""Apache Kafka 4.4.0, two clusters of one KRaft node each; advertised.listeners of the second name the
address of the first. Clients bootstrap at the second and are sent to the first. The Java client 4.4.0
names the cluster that it expects, and is refused; the Java client 4.3.1 and librdkafka write to the wrong
cluster.
"""

from captures.record import java
from captures.record.commands import tell_offsets
from captures.record.lab import Lab
from captures.record.pythons import librdkafka
from captures.record.scenarios._clusters import another
from captures.record.spec import HOST, INTERNAL, PLAIN, Node, Spec

NAME = "kafka44_misrouted"
BROKER = Spec("4.4.0")
_BESIDE = 50


def run(lab: Lab) -> None:
    """Create a topic of the same name in both clusters, and write to it with each client."""
    first = lab.cluster
    node = first.nodes[0]
    own = Node(1, first.base + _BESIDE)
    told = f"PLAINTEXT://{HOST}:{node.port(PLAIN)},INTERNAL://{HOST}:{own.port(INTERNAL)}"
    with another(lab, _BESIDE, {"advertised.listeners": told}) as second:
        places = {
            "first": f"{HOST}:{node.port(INTERNAL)}",
            "second": f"{HOST}:{second.nodes[0].port(INTERNAL)}",
        }  # listeners that are not captured
        for name, bootstrap in places.items():
            lab.run_driver(java.java("4.4.0"), "NameCluster", client_id=f"{name}-admin", bootstrap=bootstrap)
            lab.run_driver(
                java.java("4.4.0"), "CreateTopic", client_id=f"{name}-admin", bootstrap=bootstrap,
                topic="orders",
            )  # fmt: skip
        patience = {"delivery.timeout.ms": "4000", "request.timeout.ms": "3000", "linger.ms": "0"}
        for version in ("4.3.1", "4.4.0"):
            lab.run_driver(
                java.java(version), "Produce", client_id=f"java-{version}", bootstrap=second.bootstrap,
                topic="orders", count=2, properties=patience,
            )  # fmt: skip
        lab.run_driver(
            librdkafka(), "attempt", client_id="rdkafka", bootstrap=second.bootstrap, topic="orders"
        )
        for name, bootstrap in places.items():
            tell_offsets(lab, name, bootstrap)
