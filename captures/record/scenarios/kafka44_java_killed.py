"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a consumer is killed in the middle of a rebalance.
The first member of a group works on what it polled while a second one comes and waits for it; the second
is killed before it was given anything, and is missed when its session is over. Once with the classic
protocol and once with that of KIP-848.
"""

import time

from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_killed"
BROKER = Spec(
    "4.4.0",
    properties={
        "num.partitions": "2",
        "group.consumer.min.session.timeout.ms": "3000",
        "group.consumer.session.timeout.ms": "3000",
    },
)
_WORK_SECONDS, _WAIT_SECONDS, _SESSION_SECONDS = 10, 6, 3


def run(lab: Lab) -> None:
    """One that works and one that is killed, in two groups."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="shifts", count=6, keys=7)
    for protocol in ("classic", "consumer"):
        _kill(lab, client, protocol)


def _kill(lab: Lab, client: Driver, protocol: str) -> None:
    more = {"session.timeout.ms": f"{_SESSION_SECONDS * 1000}", "heartbeat.interval.ms": "500"}
    options = {"topic": "shifts", "group": f"killed-{protocol}", "wait": "true", "commit_each": "true"}
    properties = {"group.protocol": protocol} | (more if protocol == "classic" else {})
    works = lab.start_driver(
        client, "Consume", client_id=f"{protocol}-works", slow=_WORK_SECONDS * 1000, properties=properties,
        **options,
    )  # fmt: skip
    works.until("works")
    dies = lab.start_driver(client, "Consume", client_id=f"{protocol}-dies", properties=properties, **options)
    time.sleep(_WAIT_SECONDS)
    assert not any(event.get("partitions") for event in dies.events), "it was not to have any yet"
    dies.kill()
    lab.truth.note(f"{protocol}-dies was killed while {protocol}-works had not given it anything")
    time.sleep(2 * _WORK_SECONDS - _WAIT_SECONDS + 3 * _SESSION_SECONDS)
    works.stop()
