"""Apache Kafka 0.11.0.3 with ZooKeeper, one broker: one that writes its requests by hand sends an idempotent
batch twice in one request. Brokers 0.11.0 answer DUPLICATE_SEQUENCE_NUMBER to that: they look for a batch
that came again before they take the first of a request, and check each for itself behind it.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka011_twice_raw"
BROKER = Spec(
    "0.11.0.3",
    zookeeper=True,
    one_listener=True,
    properties={"authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer"},
)


def run(lab: Lab) -> None:
    """Send batches again: alone, from before the last one, and twice in a request."""
    lab.run_driver(java("0.11.0.3"), "Produce", client_id="producer", topic="sequences", count=1)
    lab.run_driver(java("4.4.0"), "Twice", client_id="twice", topic="sequences")
    lab.truth.content["raw"] = True
