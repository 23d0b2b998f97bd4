"""Apache Kafka 2.8.2 with ZooKeeper, one broker, and the clients of 0.8.2: the Java producer, and the
console consumer in Scala that finds brokers through ZooKeeper, fetches with the first version of Fetch and
commits its offsets to Kafka.
"""

from captures.record.java import java, tools
from captures.record.lab import Lab
from captures.record.spec import HOST, Spec, zookeeper_port

NAME = "kafka28_scala_consumer"
BROKER = Spec("2.8.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Write and read as in 2015."""
    lab.run_driver(java("0.8.2.2"), "Produce", client_id="producer", topic="old", count=6)
    for turn in range(2):
        lab.run_driver(
            tools("0.8.2.2"),
            "ScalaConsumer",
            client_id="scala",
            zookeeper=f"{HOST}:{zookeeper_port(lab.cluster.base)}",
            topic="old",
            group="scala-group",
            count=4 if turn == 0 else 2,
        )
    lab.run_driver(
        tools("0.8.2.2"), "SimpleOffsets", client_id="simple", topic="old", group="simple-group", offset=3
    )
