"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a consumer reads a topic that was compacted, from
the beginning. Its producers have no ids, and each record is a batch: what the cleaner takes leaves nothing
behind.
"""

import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_gaps"
BROKER = Spec("4.4.0")
_COMPACT = "cleanup.policy=compact;segment.ms=1000;min.cleanable.dirty.ratio=0.01"
_ALONE = {"enable.idempotence": "false", "batch.size": 1, "linger.ms": 0}
_KEYS = (5, 3, 3)  # of each turn: the second takes three of the first's keys


def run(lab: Lab) -> None:
    """Three times six records; the log rolls by their own time, and the last segment is not cleaned."""
    client = java("4.4.0")
    lab.run_driver(client, "CreateTopic", client_id="creator", topic="states", configs=_COMPACT)
    for turn, keys in enumerate(_KEYS):
        lab.run_driver(
            client, "Produce", client_id=f"writes-{turn}", topic="states", count=6, keys=keys,
            prefix=f"turn{turn}", later=60 * turn, properties=_ALONE,
        )  # fmt: skip
        time.sleep(1.5)
    time.sleep(5)  # the cleaner looks every second
    lab.run_driver(client, "Consume", client_id="reads", topic="states", polls=6)
