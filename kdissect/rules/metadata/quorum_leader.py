"""KRF005: The leader of the metadata quorum must be one of its replicas."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class UnknownQuorumLeader(BodyRule):
    """The leader of the metadata quorum must be one of its replicas.

    It is a voter, or one that leads until its removal from the voters is written.

    Example: leader 999, voters 1 to 3, no observers.

    What to do: send one snapshot of the quorum's state.
    """

    code = "KRF005"
    name = "unknown-quorum-leader"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-595 Proposed Changes", "KIP-853 Proposed Changes")
    on = (("DescribeQuorum", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the leader against all replicas that the answer has."""
        nodes = {node.node_id for node in getattr(body.value, "nodes", None) or ()}
        for _, partition, at in body.partitions("topics"):
            replicas = {row.replica_id for row in (*partition.current_voters, *partition.observers)} | nodes
            leader = partition.leader_id
            if not partition.error_code and replicas and leader >= 0 and leader not in replicas:
                yield body.violation(f"{at}.leader_id", f"one of {sorted(replicas)}", str(leader))
