"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0, captured also between the brokers: a share group
(KIP-932) whose two members read, accept, release, reject and renew records; the group is described while
it lives, its offsets are altered and deleted when it is empty, then the group itself. The share
coordinator keeps the state in __share_group_state.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_share"
BROKER = Spec("4.4.0", sniff="all")


def run(lab: Lab) -> None:
    """Configure, write, share, describe, delete."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="jobs", count=10)
    lab.run_driver(client, "AdminGroupKinds", client_id="configurer", group="workers", what="share")
    share = {"topic": "jobs", "group": "workers", "wait": "true"}
    first = lab.start_driver(
        client, "ShareConsume", client_id="worker-1", explicit="true", renew="true", **share
    )
    first.until("acknowledge", 6)
    second = lab.start_driver(client, "ShareConsume", client_id="worker-2", **share)
    second.until("joined")
    lab.run_driver(client, "Produce", client_id="producer-2", topic="jobs", count=6, prefix="later")
    second.until("acknowledged", 3)
    lab.run_driver(client, "AdminGroupKinds", client_id="describer", group="workers", topic="jobs")
    first.stop()
    second.stop()
    lab.run_driver(client, "AdminGroupKinds", client_id="remover", group="workers", topic="jobs", what="idle")
