"""Apache Kafka 2.8.2 with ZooKeeper, one broker, franz-go held to the API versions of Kafka 1.0 to 2.3,
release after release: it writes, reads, joins groups, transacts and administers; the last versions before
flexible ones.
"""

from captures.record.lab import Lab
from captures.record.scenarios._ladder import climb
from captures.record.spec import Spec

NAME = "kafka28zk_franz_middle"
BROKER = Spec("2.8.2", zookeeper=True, properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Up the ladder of releases."""
    climb(lab, ["1.0", "1.1", "2.0", "2.1", "2.2", "2.3"], ["transactions", "group", "admin"])
