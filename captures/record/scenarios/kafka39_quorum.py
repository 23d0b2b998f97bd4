"""Apache Kafka 3.9.2, three KRaft nodes, each broker and controller, captured on every port from the
start: the quorum is elected, brokers register, a replicated topic is written; a node is stopped, another
killed, both come back.
"""

from captures.record.lab import Lab
from captures.record.quorum import life, spec

NAME = "kafka39_quorum"
BROKER = spec("3.9.2")


def run(lab: Lab) -> None:
    """Work and fail over."""
    life(lab, "3.9.2")
