"""MET003: in-sync replicas and the leader must be replicas."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class IsrNotReplicas(BodyRule):
    """In-sync replicas and the leader must be replicas.

    Example: replicas 1, 2 and in-sync replicas 1, 3.

    What to do: send one snapshot of the partition's state.
    """

    code = "MET003"
    name = "isr-not-replicas"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.metadata.Replicas#validateIsr",)
    on = (("Metadata", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Each partition's sets."""
        for _, partition, at in body.partitions("topics"):
            stray = {*partition.isr_nodes, *([partition.leader_id] if partition.leader_id >= 0 else [])}
            stray -= set(partition.replica_nodes)
            if stray and partition.error_code == 0:
                path = f"{at}.replica_nodes"
                yield body.violation(path, "every in-sync replica and the leader", f"{sorted(stray)} missing")
