"""Apache Kafka 2.8.2 with ZooKeeper, one broker, and the group tool of 0.10.2 and 1.1, whose own admin
clients speak the first versions of ListGroups, DescribeGroups and DeleteGroups; Kafka Streams 0.10.2 and
2.8.2 count words beside them (their assignment travels in JoinGroup and SyncGroup).
"""

import time

from captures.record.java import java, streams, tools
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_tools"
BROKER = Spec("2.8.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Run a live group, an idle group and a Streams application."""
    client = java("1.1.1")
    lab.run_driver(client, "Produce", client_id="producer", topic="words", count=4)
    for group in ("idle-0-10", "idle-1-1"):
        lab.run_driver(client, "Consume", client_id=group, topic="words", group=group, count=4, commit="true")
    live = lab.start_driver(
        client, "Consume", client_id="live", topic="words", group="live", wait="true", commit_each="true"
    )
    live.until("assigned")
    lab.run_driver(tools("0.10.2.2"), "GroupTool", client_id="admin", group="live", new_consumer="true")
    live.stop()
    lab.run_driver(tools("1.1.1"), "GroupTool", client_id="admin", group="idle-1-1", delete="true")
    old = lab.start_driver(
        streams("0.10.2.2"),
        "StreamsOld",
        client_id="old-count",
        group="old-count",
        topic="words",
        state=lab.cluster.nodes[0].home / "streams-old",
    )
    old.until("started")
    time.sleep(8)
    old.stop()
    app = lab.start_driver(
        streams("2.8.2"),
        "StreamsApp",
        client_id="count",
        group="count",
        topic="words",
        state=lab.cluster.nodes[0].home / "streams",
    )
    app.until("state", 2)
    lab.run_driver(client, "Produce", client_id="more", topic="words", count=4)
    app.stop()
