"""Apache Kafka 3.7.2, three KRaft nodes, each broker and controller, captured on every port from the
start: the quorum is elected, brokers register, a replicated topic is written; a node is stopped and comes
back.
"""

from captures.record.lab import Lab
from captures.record.quorum import life, spec

NAME = "kafka37_quorum"
BROKER = spec("3.7.2")


def run(lab: Lab) -> None:
    """Work and restart one node."""
    life(lab, "3.7.2", brief=True)
