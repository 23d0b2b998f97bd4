"""MET008: A partition must name each replica once, and offline ones must be replicas."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_SETS = ("replica_nodes", "isr_nodes", "offline_replicas")


class OddReplicas(BodyRule):
    """A partition must name each replica once, and offline ones must be replicas.

    A broker holds one copy of a partition. In-sync replicas and offline replicas are some of the replicas.

    Example: replicas 1, 2, 2; offline replica 7 where the replicas are 1 and 2.

    What to do: send one snapshot of the partition's state.
    """

    code = "MET008"
    name = "odd-replicas"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.metadata.Replicas#validate",)
    on = (("Metadata", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition's sets."""
        for _, partition, at in body.partitions("topics"):
            for name in _SETS:
                ids = getattr(partition, name, ())
                if len(ids) > 1 and len(ids) != len(set(ids)):
                    yield body.violation(f"{at}.{name}", "each broker once", str(ids))
            offline = getattr(partition, "offline_replicas", ())
            stray = set(offline).difference(partition.replica_nodes) if offline else ()
            if stray and not partition.error_code:
                seen = f"{sorted(stray)} missing"
                yield body.violation(f"{at}.replica_nodes", "every offline replica", seen)
