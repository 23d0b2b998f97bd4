"""Apache Kafka 3.2.3, three KRaft nodes, each broker and controller, captured on every port from the
start: the quorum is elected, brokers register, a replicated topic is written; a node is stopped and comes
back.
"""

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.quorum import life, spec

NAME = "kafka32_quorum"
BROKER = spec("3.2.3")


def run(lab: Lab) -> None:
    """Work and restart one node."""
    life(lab, "3.2.3", brief=True)
    lab.run_driver(java("4.4.0"), "AdminVoters", client_id="describer", what="describe")
