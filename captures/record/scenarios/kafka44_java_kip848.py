"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: groups of the new protocol (KIP-848): two members
with the uniform assignor on the server, one with a regular expression, one that leaves and one that is
static; the group is described, its offsets listed, altered and deleted; a group moves from the classic
protocol to the new one member by member.
"""

from captures.record.drivers import Driver, Running
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_kip848"
BROKER = Spec("4.4.0", properties={"num.partitions": "4"})


def _member(lab: Lab, client: Driver, name: str, group: str, **more: str) -> Running:
    properties = {
        "group.protocol": "consumer",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    if properties["group.protocol"] == "classic":
        properties["heartbeat.interval.ms"] = "400"
    return lab.start_driver(
        client,
        "Consume",
        client_id=name,
        topic="modern",
        group=group,
        wait="true",
        commit_each="true",
        properties=properties,
    )


def run(lab: Lab) -> None:
    """Run a group of the new protocol, then upgrade a group while it runs."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="modern", count=12, keys=7)
    first = _member(lab, client, "new-1", "new", group_remote_assignor="uniform")
    first.until("assigned")
    second = _member(lab, client, "new-2", "new", group_instance_id="instance-2")
    second.until("assigned")
    lab.run_driver(client, "AdminGroupKinds", client_id="describer", group="new", topic="modern")
    second.stop()
    first.until("assigned", 2)
    first.stop()
    lab.run_driver(client, "AdminGroups", client_id="admin", group="new", idle="new", topic="modern")
    old = _member(lab, client, "upgrade-old", "upgraded", group_protocol="classic")
    old.until("assigned")
    new = _member(lab, client, "upgrade-new", "upgraded")
    new.until("assigned")
    old.stop()
    new.stop()
