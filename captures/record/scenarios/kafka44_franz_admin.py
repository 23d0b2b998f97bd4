"""Apache Kafka 4.4.0, one KRaft node, franz-go's admin client: each of its calls once, on topics, records,
groups, share groups, transactions, ACLs, SCRAM users, quotas, delegation tokens (refused on this listener)
and the cluster.
"""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_franz_admin"
BROKER = Spec("4.4.0")


def run(lab: Lab) -> None:
    """One process makes all calls; one transaction and one share group give it something to describe."""
    client = franz()
    lab.run_driver(
        client, "transactions", client_id="transactor", topic="other", id="managed-tx", count=2, partitions=1
    )
    lab.run_driver(
        client, "share", client_id="sharer", topic="other", group="managed-share", count=2, rounds=1
    )
    lab.run_driver(client, "admin", client_id="admin", topic="managed")
    lab.truth.secret("carol-secret")
