"""Apache Kafka 2.8.2 with ZooKeeper, one broker with room for one fetch session, Java client 2.8.2: a
reader has the session, pauses for more than two minutes, and loses it to another one. It is told
FETCH_SESSION_ID_NOT_FOUND, asks for a new one, and gets none.
"""

import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_evicted"
BROKER = Spec(
    "2.8.2",
    zookeeper=True,
    properties={
        "max.incremental.fetch.session.cache.slots": "1",
    },
)
_PAUSE_MS = 135_000
_STALE_S = 121  # what was used within two minutes keeps its slot (kafka.server.KafkaBroker)


def run(lab: Lab) -> None:
    """Run the consumer that pauses first, then the consumer that reads on."""
    client = java("2.8.2")
    lab.run_driver(client, "Produce", client_id="producer", topic="shared", count=8)
    pausing = lab.start_driver(
        client, "Consume", client_id="pausing", topic="shared", wait="true", slow=_PAUSE_MS,
    )  # fmt: skip
    pausing.until("read", 8)
    time.sleep(_STALE_S)
    lab.run_driver(client, "Consume", client_id="steady", topic="shared", polls=12)
    time.sleep(_PAUSE_MS / 1000 - _STALE_S)  # it goes on
    pausing.stop()
