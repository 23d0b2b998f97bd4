"""Apache Kafka 3.9.2, one KRaft node, the AdminClient of the same version: topics, configs, offsets,
reassignments, log directories, ACLs, quotas, SCRAM users, delegation tokens and groups. Many calls are
refused on purpose. The broker's request log of this scenario is kept beside the capture.
"""

from captures.record import requestlog
from captures.record.administer import administer
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka39_java_admin"
BROKER = Spec("3.9.2", request_log=True)


def run(lab: Lab) -> None:
    """Make the calls, then run one transaction."""
    client = java("3.9.2")
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
