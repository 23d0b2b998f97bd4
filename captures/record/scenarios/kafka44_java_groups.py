"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: classic groups with the eager range, the
cooperative sticky assignor and a static member that comes back with its id; members join and leave, one
crashes and its session ends; offsets are committed and read again.
"""

from captures.record.drivers import Driver, Running
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_groups"
BROKER = Spec("4.4.0", properties={"num.partitions": "4"})
_FAST = {"session.timeout.ms": "3000", "heartbeat.interval.ms": "400", "group.protocol": "classic"}
_ASSIGNOR = "org.apache.kafka.clients.consumer."


def _member(lab: Lab, client: Driver, name: str, group: str, **more: str) -> Running:
    properties = _FAST | {key.replace("_", "."): value for key, value in more.items()}
    return lab.start_driver(
        client,
        "Consume",
        client_id=name,
        topic="shared",
        group=group,
        wait="true",
        commit_each="true",
        properties=properties,
    )


def run(lab: Lab) -> None:
    """Three groups, one assignor each."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="shared", count=12, keys=7)
    for group, assignor in (("eager", "RangeAssignor"), ("cooperative", "CooperativeStickyAssignor")):
        assign = {"partition_assignment_strategy": _ASSIGNOR + assignor}
        first = _member(lab, client, f"{group}-1", group, **assign)
        first.until("assigned")
        second = _member(lab, client, f"{group}-2", group, **assign)
        second.until("assigned")
        second.stop()
        first.until("assigned", 3)
        first.stop()
    _static(lab, client)


def _static(lab: Lab, client: Driver) -> None:
    first = _member(lab, client, "static-1", "static", group_instance_id="instance-1")
    first.until("assigned")
    second = _member(lab, client, "static-2", "static", group_instance_id="instance-2")
    second.until("assigned")
    second.kill()
    lab.truth.note(
        "static-2 was killed and came back as static-3, same group.instance.id, before its session ended"
    )
    third = _member(lab, client, "static-3", "static", group_instance_id="instance-2")
    third.until("assigned")
    third.kill()
    lab.truth.note("static-3 was killed for good: its session ends and static-1 takes over")
    first.until("assigned", 3)
    first.stop()
