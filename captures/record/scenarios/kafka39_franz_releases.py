"""Apache Kafka 3.9.2, one KRaft node, franz-go held to the API versions of Kafka 3.0 to 3.8, release after
release: it writes, reads, joins groups, transacts and administers.
"""

from captures.record.lab import Lab
from captures.record.scenarios._ladder import climb
from captures.record.spec import Spec

NAME = "kafka39_franz_releases"
BROKER = Spec("3.9.2", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Up the ladder of releases."""
    climb(lab, ["3.0", "3.2", "3.5", "3.8"], ["transactions", "group", "admin"])
