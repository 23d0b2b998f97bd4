"""Apache Kafka 4.4.0, one KRaft node, and the Java clients 2.8 to 4.3 one after the other: each writes
with another codec, reads in a group, transacts (commit, abort, offsets) and administers.
"""

from captures.record.generations import parade
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_generations"
BROKER = Spec("4.4.0")


def run(lab: Lab) -> None:
    """Run the clients in the order of their releases."""
    parade(
        lab,
        [
            "2.8.2",
            "3.0.2",
            "3.2.3",
            "3.4.1",
            "3.5.2",
            "3.6.2",
            "3.7.2",
            "3.8.1",
            "3.9.2",
            "4.0.2",
            "4.1.2",
            "4.3.1",
        ],
    )
