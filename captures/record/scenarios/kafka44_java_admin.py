"""Apache Kafka 4.4.0, one KRaft node, AdminClient 4.4.0: every call it has but those of the quorum's
voters: topics, configs, offsets, reassignments, log directories, ACLs, quotas, SCRAM users, delegation
tokens, groups, features, transactions (one left open is aborted, fenced and terminated), client metrics.
Many calls are refused on purpose. The broker's request log of this scenario is kept beside the capture.
"""

from captures.record import requestlog
from captures.record.administer import administer
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_admin"
BROKER = Spec("4.4.0", request_log=True)


def run(lab: Lab) -> None:
    """Make the calls that every AdminClient has, then the newer calls."""
    client = java("4.4.0")
    administer(lab, client)
    lab.run_driver(
        client,
        "Transact",
        client_id="opener",
        topic="grouped",
        count=2,
        transactional_id="open-txn",
        plan="commit,open",
    )
    lab.run_driver(client, "AdminModern", client_id="admin-modern", topic="grouped", open="open-txn")


def after(lab: Lab) -> None:
    """Keep the broker's request log."""
    requestlog.keep(lab, NAME)
