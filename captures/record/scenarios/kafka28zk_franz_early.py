"""Apache Kafka 2.8.2 with ZooKeeper, one broker, franz-go held to the API versions of Kafka 0.8.0 to 0.11,
release after release: it writes, reads, joins groups, transacts and administers; message formats 0, 1 and
2.
"""

from captures.record.lab import Lab
from captures.record.scenarios._ladder import climb
from captures.record.spec import Spec

NAME = "kafka28zk_franz_early"
BROKER = Spec("2.8.2", zookeeper=True, properties={"num.partitions": "2"})
_RELEASES = ["0.8.0", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0"]


def run(lab: Lab) -> None:
    """Up the ladder of releases."""
    climb(
        lab,
        ["0.8.0", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0"],
        ["transactions", "group", "admin"],
    )
