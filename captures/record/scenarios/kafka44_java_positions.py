"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: positions that jump, and records that wait. A
consumer seeks back, to the beginning and to the end, and finds its records deleted; a group commits backwards
and beyond the end, and is reset by an admin. Two producers write the same records. A transaction is left open
until its coordinator aborts it, and a consumer that reads what is committed waits behind it.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_positions"
BROKER = Spec("4.4.0", properties={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"})
_COUNT = 8


def run(lab: Lab) -> None:
    """Each misfortune on a topic of its own."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="jumps", count=_COUNT)
    plan = "read:8,seek:2,read:3,beginning,read:2,end,seek:1,trim:5,read:1,seek:0,read:3"
    lab.run_driver(client, "Wander", client_id="wanderer", topic="jumps", plan=plan)
    group = {"topic": "jumps", "group": "readers"}
    lab.run_driver(client, "Wander", client_id="reader", plan="read:3,commit:8,commit:6,commit:100", **group)
    lab.run_driver(client, "Wander", client_id="resetter", plan="reset:6", **group)
    lab.run_driver(client, "Wander", client_id="reader", plan="read:2", **group)
    for name in ("first-writer", "second-writer"):
        lab.run_driver(client, "Produce", client_id=name, topic="twice", count=3)
    lab.run_driver(client, "Consume", client_id="twice-reader", topic="twice", count=6)
    _hang(lab)


def _hang(lab: Lab) -> None:
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="before", topic="held", count=1)
    committed = {"isolation.level": "read_committed"}
    waits = lab.start_driver(
        client, "Consume", client_id="waits", topic="held", count=4, polls=120, properties=committed
    )
    lab.run_driver(
        client,
        "Transact",
        client_id="hangs",
        topic="held",
        transactional_id="hanging",
        plan="open",
        count=2,
        properties={"transaction.timeout.ms": "8000"},
    )
    lab.run_driver(client, "Produce", client_id="behind", topic="held", count=3)
    waits.wait()
