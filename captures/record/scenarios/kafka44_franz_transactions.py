"""Apache Kafka 4.4.0, one KRaft node, franz-go: a transaction that commits, one that aborts, then a member
of a group that moves what was committed to another topic, records and offsets in one transaction. Both
topics are read with and without read_committed.
"""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_franz_transactions"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """Transact, then read what is visible."""
    client = franz()
    options = {"topic": "ledger", "id": "ledger-tx", "group": "mover", "to": "moved"}
    lab.run_driver(client, "transactions", client_id="transactor", **options)
    for topic in ("ledger", "moved"):
        lab.run_driver(client, "consume", client_id=f"c-{topic}", topic=topic, count=6, isolation="committed")
    lab.run_driver(client, "consume", client_id="uncommitted", topic="ledger", count=12)
