"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: transactions that commit, abort, carry the
offsets of a group and are fenced by a second producer with the same transactional id; one stays open while
a read_committed and a read_uncommitted consumer read the same topic. An idempotent producer writes beside
them.
"""

from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_transactions"
BROKER = Spec("4.4.0", sniff="all", properties={"transaction.two.phase.commit.enable": "true"})


def run(lab: Lab) -> None:
    """Write in transactions, then read with both isolation levels."""
    client = java("4.4.0")
    lab.run_driver(
        client,
        "Produce",
        client_id="idempotent",
        topic="ledger",
        count=3,
        properties={"enable.idempotence": "true"},
    )
    lab.run_driver(client, "Produce", client_id="source", topic="source", count=3)
    lab.run_driver(
        client,
        "Transact",
        client_id="transactor",
        transactional_id="ledger-1",
        topic="ledger",
        count=3,
        source="source",
        group="ledger-group",
        plan="commit,abort,offsets,commit,fence",
        properties={"compression.type": "lz4"},
    )
    lab.run_driver(
        client,
        "Transact",
        client_id="opener",
        transactional_id="ledger-2",
        topic="ledger",
        count=2,
        plan="abort,open",
    )
    _two_phase(lab, client)
    for level in ("read_committed", "read_uncommitted"):
        lab.run_driver(
            client, "Consume", client_id=level, topic="ledger", polls=6, properties={"isolation.level": level}
        )


def _two_phase(lab: Lab, client: Driver) -> None:
    lab.run_driver(
        client,
        "Transact",
        client_id="two-phase",
        transactional_id="ledger-3",
        topic="ledger",
        count=2,
        plan="commit,abort",
        properties={"transaction.two.phase.commit.enable": "true"},
    )
