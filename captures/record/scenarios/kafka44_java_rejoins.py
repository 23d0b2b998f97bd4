"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a member that works longer than max.poll.interval.ms
leaves its group and joins again, over and over, while a second one is there all the time; once with the
classic protocol and once with that of KIP-848.
"""

from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_rejoins"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})
_ROUNDS = 4


def run(lab: Lab) -> None:
    """One that is too slow and one that is not, in two groups."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="queue", count=12, keys=7)
    for protocol in ("classic", "consumer"):
        _loop(lab, client, protocol)


def _loop(lab: Lab, client: Driver, protocol: str) -> None:
    more = {"heartbeat.interval.ms": "500"} if protocol == "classic" else {}
    options = {"topic": "queue", "group": f"rejoins-{protocol}", "wait": "true"}
    properties = {"group.protocol": protocol} | more
    steady = lab.start_driver(
        client, "Consume", client_id=f"{protocol}-steady", properties=properties, **options
    )
    steady.until("assigned")
    slow = {"max.poll.interval.ms": "1000", "max.poll.records": "1"}
    late = lab.start_driver(
        client, "Consume", client_id=f"{protocol}-slow", slow=2000, properties=properties | slow, **options
    )
    late.until("works", _ROUNDS)
    late.stop()
    steady.stop()
