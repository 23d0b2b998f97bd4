"""Apache Kafka 2.8.2 with ZooKeeper, one broker, and the Java clients 0.8 to 1.1 one after the other: each
writes with another codec and reads in a group; from 0.11 on transactions (commit, abort, offsets), from
1.0 on the AdminClient. The oldest versions of the APIs that have users, old message formats among them.
"""

from captures.record.generations import parade
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_generations_early"
BROKER = Spec("2.8.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Run the clients in the order of their releases."""
    parade(lab, ["0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"])
