"""Apache Kafka 3.6.2 at metadata version 3.5-IV0, three KRaft nodes, each broker and controller, captured
on every port from the start: the quorum is elected, brokers register, a replicated topic is written; a
node is stopped, another killed, both come back.
"""

from captures.record.lab import Lab
from captures.record.quorum import life, spec

NAME = "kafka36_quorum"
BROKER = spec("3.6.2", release="3.5-IV0")


def run(lab: Lab) -> None:
    """Work and fail over."""
    life(lab, "3.6.2")
