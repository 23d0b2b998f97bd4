"""Apache Kafka 4.4.0, one KRaft node, Java clients: the same work twice, the second time with one thing
changed, for each of eleven things: acks, codec, batches, idempotence, isolation level, the least that a Fetch
waits for, session timeout, assignor, group protocol, a quota, and the release of the client. What `diff`
finds can be held to what was changed.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_pairs"
BROKER = Spec("4.4.0", properties={"quota.window.num": "2", "group.initial.rebalance.delay.ms": "0"})
_COUNT, _SIZE = 12, 300
_ONE_EACH = {"batch.size": "1", "linger.ms": "0", "enable.idempotence": "false"}

_WRITES = {
    "acks": ({"acks": "all"}, {"acks": "1"}),
    "codec": ({"compression.type": "none"}, {"compression.type": "zstd"}),
    "batches": ({}, {"batch.size": "16384", "linger.ms": "1000"}),
    "idempotence": ({}, {"enable.idempotence": "true"}),
    "quota": ({}, {}),
    "release": ({}, {}),
}
_READS = {
    "isolation": ({"isolation.level": "read_uncommitted"}, {"isolation.level": "read_committed"}),
    "least": ({"fetch.min.bytes": "1"}, {"fetch.min.bytes": "50000"}),
    "session": ({"session.timeout.ms": "45000"}, {"session.timeout.ms": "6000"}),
    "assignor": (
        {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
        {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
    ),
    "protocol": ({"group.protocol": "classic"}, {"group.protocol": "consumer"}),
}


def run(lab: Lab) -> None:
    """Each pair one after the other, `THING-good` before `THING-bad`."""
    lab.run_driver(
        java("4.4.0"), "Quota", client_id="admin", of="quota-bad", quota="producer_byte_rate", rate=1000
    )
    for thing, settings in _WRITES.items():
        for side, changed in zip(("good", "bad"), settings, strict=True):
            release = "3.9.2" if (thing, side) == ("release", "good") else "4.4.0"
            lab.run_driver(
                java(release), "Produce", client_id=f"{thing}-{side}", topic=thing, count=_COUNT, size=_SIZE,
                properties=_ONE_EACH | changed,
            )  # fmt: skip
    for thing, settings in _READS.items():
        for side, changed in zip(("good", "bad"), settings, strict=True):
            lab.run_driver(
                java("4.4.0"), "Consume", client_id=f"{thing}-{side}", topic="acks", group=f"{thing}-{side}",
                count=_COUNT, properties=changed,
            )  # fmt: skip
