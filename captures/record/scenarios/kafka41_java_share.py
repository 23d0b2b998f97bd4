"""Apache Kafka 4.1.2, one KRaft node, Java client 4.1.2, captured also between the brokers: share groups
as an early version had them (KIP-932, the first versions of their APIs): one member accepts, releases and
rejects records, the
group is described. A controller that does not exist is refused as a voter.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka41_java_share"
_EARLY = {
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "unstable.feature.versions.enable": "true",
    "group.share.enable": "true",
}
BROKER = Spec("4.1.2", sniff="all", features=("share.version=1",), properties=_EARLY)


def run(lab: Lab) -> None:
    """Configure, share, describe."""
    client = java("4.1.2")
    lab.run_driver(client, "Produce", client_id="producer", topic="jobs", count=8)
    lab.run_driver(java("4.4.0"), "AdminGroupKinds", client_id="configurer", group="workers", what="share")
    share = {"topic": "jobs", "group": "workers", "wait": "true"}
    voter = {"id": 9, "directory": "AAAAAAAAAAAAAAAAAAAAEQ", "port": 1}
    lab.run_driver(client, "AdminVoters", client_id="voter-adder", what="add", **voter)
    worker = lab.start_driver(client, "ShareConsume", client_id="worker", explicit="true", **share)
    worker.until("acknowledge", 6)
    lab.run_driver(client, "DescribeShare", client_id="describer", group="workers")
    newest = {"group": "workers", "topic": "jobs"}
    lab.run_driver(java("4.4.0"), "AdminGroupKinds", client_id="newer-describer", **newest)
    worker.stop()
    lab.run_driver(java("4.4.0"), "AdminGroupKinds", client_id="remover", what="idle", **newest)
