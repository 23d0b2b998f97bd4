"""Apache Kafka 4.4.0, two clusters of one KRaft node each on one host, Java client 4.4.0: both have a topic
`orders`, a group `billing` whose members have one client id, and a transactional id `payments`; nothing is
wrong with either. Then a topic of the first cluster is deleted and created again under a group that has read
it.
"""

from captures.record import java
from captures.record.lab import Lab
from captures.record.scenarios._clusters import another
from captures.record.spec import Spec

NAME = "kafka44_two_clusters"
BROKER = Spec("4.4.0")
_WRITTEN = {"first": 5, "second": 40}


def run(lab: Lab) -> None:
    """Use the same names in both clusters, then create a topic again with its old name."""
    with another(lab) as second:
        places = {"first": lab.cluster.bootstrap, "second": second.bootstrap}
        client = java.java("4.4.0")
        for name, bootstrap in places.items():
            lab.run_driver(client, "NameCluster", client_id=f"{name}-admin", bootstrap=bootstrap)
            lab.run_driver(
                client, "Produce", client_id=f"{name}-writer", bootstrap=bootstrap, topic="orders",
                count=_WRITTEN[name],
            )  # fmt: skip
        readers = {
            name: lab.start_driver(
                client, "Consume", client_id="reader", bootstrap=bootstrap, topic="orders", group="billing",
                count=_WRITTEN[name], commit_each="true",
            )
            for name, bootstrap in places.items()
        }  # fmt: skip
        for name, bootstrap in places.items():
            readers[name].wait()
            lab.run_driver(
                client, "Transact", client_id="payer", bootstrap=bootstrap, topic="paid",
                transactional_id="payments", count=2,
            )  # fmt: skip
    _renew(lab)


def _renew(lab: Lab) -> None:
    client = java.java("4.4.0")
    for count in (8, 3):
        lab.run_driver(client, "CreateTopic", client_id="owner", topic="renewed")
        lab.run_driver(client, "Produce", client_id="renewer", topic="renewed", count=count)
        lab.run_driver(
            client, "Consume", client_id="follower", topic="renewed", group="followers", count=count,
            commit_each="true",
        )  # fmt: skip
        if count == 8:
            lab.run_driver(client, "DeleteTopic", client_id="owner", topic="renewed")
