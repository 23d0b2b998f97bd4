"""Rules: the leader of the metadata quorum against its replicas."""

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


class AheadOfLeader(BodyRule):
    """No replica of the metadata log must be ahead of its leader.

    Replicas copy the log from its leader, which reads all ends of the log at one time.

    Example: leader 1 with log_end_offset 100, voter 2 with 600.

    What to do: look at who is the leader. The replica may belong to another quorum.
    """

    code = "KRF010"
    name = "ahead-of-leader"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-595 Proposed Changes",)
    on = (("DescribeQuorum", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the first replica that is ahead."""
        for _, partition, at in body.partitions("topics"):
            ends = [
                row.log_end_offset
                for row in partition.current_voters
                if row.replica_id == partition.leader_id
            ]
            for name in ("current_voters", "observers") if len(ends) == 1 and ends[0] >= 0 else ():
                for index, row in enumerate(getattr(partition, name)):
                    if row.log_end_offset > ends[0]:
                        path = f"{at}.{name}[{index}].log_end_offset"
                        yield body.violation(
                            path, f"{ends[0]} or less, as the leader", str(row.log_end_offset)
                        )
                        return
