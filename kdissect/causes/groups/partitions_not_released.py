"""`partitions-not-released`: a member of a consumer group keeps partitions that another one waits for."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause
from kdissect.causes.evidence.evidence import Evidence, Row
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.groups.group_story import GroupStory, rows_of, stories
from kdissect.engine.times import ns_of
from kdissect.history.fact import Fact
from kdissect.history.groups.modern_group import Holding
from kdissect.history.state_table import Table
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration

_LONG_NS = 5 * SECOND_NS  # group.consumer.heartbeat.interval.ms by default
_REVOKED_KEPT = 10_000
_ALWAYS_NS = 1 << 63


class _Late:
    """Late moves of partitions from one member to another."""

    def __init__(self, by: str, to: str) -> None:
        self.by, self.to = by, to
        self.partitions: set[Holding] = set()
        self.waited_ns = 0
        self.seen = Seen()


class PartitionsNotReleased(Cause):
    """The coordinator assigns a partition to another member only when the former one released it."""

    id = "partitions-not-released"
    title = "A member does not release partitions"
    severity = Severity.DELAYS
    help = (
        "See what the member does when partitions are revoked (onPartitionsRevoked, a commit, work on its"
        " records): it blocks there, or does not poll. No member reads these partitions until it "
        "releases them."
    )
    cites = (
        "KIP-848 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#MAX_POLL_INTERVAL_MS_CONFIG",
    )
    explains = ("endless-rebalances", "lag-slow-consumer")
    explains_by = frozenset({"group"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each pair of members."""
        facts: dict[str, list[Fact]] = {}
        for known in seen.facts("ModernFact.assigned"):
            facts.setdefault(known.fact.key[1], []).append(known.fact)
        for story in stories(seen):
            for late in _late(story, facts.get(story.name, [])):
                count = plural(len(late.partitions), "partition")
                yield self.found(
                    f"'{late.by}' of group '{story.name}' had to give {count} to '{late.to}', and released"
                    f" {'it' if len(late.partitions) == 1 else 'them'} only after {duration(late.waited_ns)}:"
                    f" '{late.to}' waited, and both sent heartbeats.",
                    f"'{late.to}' of group '{story.name}'",
                    story.of_member(late.by, late.to),
                    late.seen,
                    Cost(time_ns=late.waited_ns),
                    f"groups {{files}} --group '{story.name}'",
                    "what the member does meanwhile, the packets do not show",
                )


def _late(story: GroupStory, facts: list[Fact]) -> list[_Late]:
    members = {row["member_id"]: row for row in rows_of(story, "members")}
    revoked: Table[Holding, Fact] = Table(_REVOKED_KEPT)
    found: dict[tuple[str, str], _Late] = {}
    known = [fact for fact in facts if fact.detail in members]
    for fact in sorted(known, key=lambda one: one.evidence.answered_ns):
        before, now = fact.expected or frozenset(), fact.seen
        for holding in now - before:
            taken = revoked.pop(holding)
            if taken is None:
                continue
            waited_ns = fact.evidence.answered_ns - taken.evidence.answered_ns
            former, member = members[taken.detail], members[fact.detail]
            # Both have to ask: a member that sends no heartbeat learns nothing.
            pauses_ns = [_pause_ns(row) for row in (former, member)]
            is_gone = _until_ns(former) <= fact.evidence.answered_ns
            if waited_ns <= _LONG_NS + sum(pauses_ns) or 0 in pauses_ns or is_gone or former is member:
                continue
            names = _name(former), _name(member)
            late = found.setdefault(names, _Late(*names))
            if not late.partitions:
                late.seen.add(packets_of(taken.evidence))
                late.seen.add(packets_of(fact.evidence), waited_ns)
                late.seen.times = 1
            late.partitions.add(holding)
            late.waited_ns = max(late.waited_ns, waited_ns)
        for holding in before - now:
            revoked.put(holding, fact)
    return list(found.values())


def _pause_ns(member: Row) -> int:
    """Return the longest time between two heartbeats; 0: fewer than two were seen."""
    return int((member["heartbeat_gap_ns"] or {}).get("max") or 0)


def _until_ns(member: Row) -> int:
    """Return when the member was removed from the group or left it."""
    return _ALWAYS_NS if member["gone_at"] is None else ns_of(member["gone_at"])


def _name(member: Row) -> str:
    return str(member["instance_id"] or member["client_id"] or member["member_id"])
