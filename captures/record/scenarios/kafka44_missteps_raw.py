"""Apache Kafka 4.4.0, one KRaft node: one that speaks with the classes of the Java client 4.4.0 leaves a gap
in its sequence numbers, repeats a batch and one from long ago, and uses fetch sessions with wrong epochs, ids
and after their end.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_missteps_raw"
BROKER = Spec("4.4.0")


def run(lab: Lab) -> None:
    """Create a topic, then send what no client sends by itself."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="sequences", count=1)
    lab.run_driver(client, "Missteps", client_id="missteps", topic="sequences")
    lab.truth.content["raw"] = True
