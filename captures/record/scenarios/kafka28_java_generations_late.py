"""Apache Kafka 2.8.2 with ZooKeeper, one broker, and the Java clients 2.0 to 2.8 one after the other: each
writes with another codec, reads in a group, transacts (commit, abort, offsets) and administers.
"""

from captures.record.generations import parade
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_generations_late"
BROKER = Spec("2.8.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Run the clients in the order of their releases."""
    parade(lab, ["2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"])
