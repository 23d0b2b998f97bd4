"""Apache Kafka 2.8.2 with ZooKeeper, one broker, franz-go held to the API versions of Kafka 2.4 to 2.8,
release after release: it writes, reads, joins groups, transacts and administers; the first flexible
versions.
"""

from captures.record.lab import Lab
from captures.record.scenarios._ladder import climb
from captures.record.spec import Spec

NAME = "kafka28zk_franz_late"
BROKER = Spec("2.8.2", zookeeper=True, properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Up the ladder of releases."""
    climb(lab, ["2.4", "2.5", "2.6", "2.7", "2.8"], ["transactions", "group", "admin"])
