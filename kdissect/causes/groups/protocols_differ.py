"""`protocols-differ`: members of a group have no way of assigning partitions in common."""

from __future__ import annotations

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.groups.group_migration_refused import has_modern_members
from kdissect.model.cause import Severity

_INCONSISTENT_GROUP_PROTOCOL = 23  # org.apache.kafka.common.protocol.Errors


class ProtocolsDiffer(ErrorCause):
    """Members that were refused for the assignors they offer."""

    id = "protocols-differ"
    title = "Members of a group do not fit together"
    severity = Severity.STOPS
    codes = frozenset({_INCONSISTENT_GROUP_PROTOCOL})
    help = (
        "All members must have one partition.assignment.strategy in common, and be of one kind (consumers,"
        " Connect workers):"
        " change it in two deployments, first both strategies, then the new one."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#INCONSISTENT_GROUP_PROTOCOL",
        "org.apache.kafka.clients.consumer.ConsumerConfig#PARTITION_ASSIGNMENT_STRATEGY_CONFIG",
    )

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Not if the members of the group have another protocol (`group-migration-refused`)."""
        return super().holds(errors, seen) and not has_modern_members(errors, seen)

    def sentence(self, errors: Errors) -> str:
        """Return who, and which group."""
        return (
            f"{clients_text(errors.clients)} may not join group {quoted(errors.names('group'))}: it has no"
            " assignment strategy"
            f" in common with the members that are there ({times(errors.seen.times)})."
        )
