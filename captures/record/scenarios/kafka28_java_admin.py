"""Apache Kafka 2.8.2, one broker with ZooKeeper, the AdminClient of the same version: topics, configs,
offsets, reassignments, log directories, ACLs, quotas, SCRAM users, delegation tokens and groups. Many
calls are refused on purpose. The broker's request log of this scenario is kept beside the capture.
"""

from captures.record import requestlog
from captures.record.administer import administer
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_admin"
BROKER = Spec("2.8.2", request_log=True, zookeeper=True)


def run(lab: Lab) -> None:
    """Make the calls, then run one transaction."""
    client = java("2.8.2")
    administer(lab, client)
    lab.run_driver(
        client,
        "Transact",
        client_id="transactor",
        topic="grouped",
        count=2,
        transactional_id="txn",
        plan="commit,abort,fence",
    )


def after(lab: Lab) -> None:
    """Keep the broker's request log."""
    requestlog.keep(lab, NAME)
