"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: rebalances that do not end. A member of a classic
group, and one of the new protocol (KIP-848), take records and then poll no more, though they heartbeat; a
second member comes to each group and waits. The capture ends while both wait.
"""

import time

from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_waiting"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})
RUNS_ON = True
_WAIT_SECONDS = 4


def run(lab: Lab) -> None:
    """One that hangs and one that waits, in two groups."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="queue", count=6, keys=7)
    for protocol in ("classic", "consumer"):
        _wait(lab, client, protocol)
    time.sleep(_WAIT_SECONDS)


def _wait(lab: Lab, client: Driver, protocol: str) -> None:
    more = {"heartbeat.interval.ms": "500"} if protocol == "classic" else {}
    options = {"topic": "queue", "group": f"waiting-{protocol}", "wait": "true"}
    properties = {"group.protocol": protocol} | more
    hangs = lab.start_driver(
        client, "Consume", client_id=f"{protocol}-hangs", stall=6, properties=properties, **options
    )
    hangs.until("stalled")
    lab.start_driver(client, "Consume", client_id=f"{protocol}-waits", properties=properties, **options)
    lab.truth.note(f"{protocol}-hangs polls no more, {protocol}-waits waits for it when the capture ends")
