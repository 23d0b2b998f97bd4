"""Apache Kafka 4.4.0, one KRaft node, Kafka Streams 4.3.1: the word count, once as a streams group
(KIP-1071, the broker assigns the tasks) and once with the classic protocol (the assignment travels in
JoinGroup and SyncGroup); the streams group is described, and its offsets are listed, altered and deleted
with the group.
"""

from captures.record.java import java, streams
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_streams"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Run the same application with both protocols."""
    client, app = java("4.4.0"), streams()
    for topic in ("words", "counts"):
        lab.run_driver(client, "Produce", client_id=f"p-{topic}", topic=topic, count=4)
    for protocol in ("streams", "classic"):
        group = f"count-{protocol}"
        running = lab.start_driver(
            app,
            "StreamsApp",
            client_id=group,
            group=group,
            topic="words",
            state=lab.cluster.nodes[0].home / protocol,
            properties={"group.protocol": protocol, "num.stream.threads": "1", "fetch.max.wait.ms": "400"},
        )
        running.until("state", 2)
        lab.run_driver(client, "Produce", client_id=f"more-{protocol}", topic="words", count=4)
        lab.run_driver(
            client, "AdminGroupKinds", client_id=f"describe-{protocol}", group=group, topic="words"
        )
        running.stop()
    lab.run_driver(
        client,
        "AdminGroupKinds",
        client_id="remover",
        group="count-streams",
        topic="words",
        what="idle",
        kind="streams",
    )
