"""Apache Kafka 4.4.0, one KRaft node that does not verify who belongs to a transaction, Java client 4.4.0: a
transaction that hangs (KIP-664). One that speaks with the classes of the client writes a batch of a
transaction whose coordinator does not know of the partition: it can end nothing, and no timeout does. Who
reads what is committed waits behind it until an administrator finds and aborts it.
"""

import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_hanging_raw"
BROKER = Spec("4.4.0", properties={"transaction.partition.verification.enable": "false"})
_WAIT_SECONDS = 5


def run(lab: Lab) -> None:
    """Open a transaction that nobody ends, let one wait for it, and end it."""
    client = java("4.4.0")
    transact = {"transactional_id": "sound", "plan": "commit", "count": 1}
    lab.run_driver(client, "Transact", client_id="sound", topic="stuck", **transact)
    lab.run_driver(client, "Missteps", client_id="forgets", topic="stuck", transactional_id="forgotten")
    lab.run_driver(client, "Produce", client_id="behind", topic="stuck", count=3)
    committed = {"isolation.level": "read_committed"}
    waits = lab.start_driver(
        client, "Consume", client_id="waits", topic="stuck", count=4, polls=200, properties=committed
    )
    waits.until("read")
    time.sleep(_WAIT_SECONDS)
    lab.run_driver(client, "EndHanging", client_id="ends", topic="stuck")
    waits.wait()
    lab.truth.content["raw"] = True
