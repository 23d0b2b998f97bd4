"""`leader-moved`: partitions got other leaders, and clients found out by errors."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.history.api_keys import PRODUCE
from kdissect.model.cause import Cost, Severity

# Not the leader, and a former one by its epoch (org.apache.kafka.common.protocol.Errors).
_MOVED = frozenset({6, 74})
_LEAST = 3
_TRANSFERS = frozenset({0, 1, 2})  # Produce, Fetch, ListOffsets


class LeaderMoved(ErrorCause):
    """Requests refused because the partition's leader is another one by now."""

    id = "leader-moved"
    title = "Partitions moved to another leader"
    severity = Severity.DELAYS
    codes = _MOVED
    apis = _TRANSFERS
    help = (
        "Leaders move when a broker stops, restarts, or is rebalanced to its preferred leaders: see what"
        " happened "
        "to the brokers then. Clients ask for metadata and go on by themselves."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#NOT_LEADER_OR_FOLLOWER", "KIP-320 Motivation")
    claims = (Claim(SymptomKind.LATE, apis={PRODUCE}),)  # records wait for the new leader
    explains = ("sequence-gap", "duplicate-writes", "metadata-storm", "unanswered-requests")

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """A topic that is being made moves once or twice; of one that is there another leader is told."""
        changed = any(known.fact.sure for known in seen.facts("LeaderFact.changed"))
        return errors.seen.times >= (1 if changed else _LEAST)

    def alike(self, key: ErrorKey) -> Hashable:
        """One event moves many partitions."""
        return None

    def sentence(self, errors: Errors) -> str:
        """Which topics, and who noticed."""
        return (
            f"The leaders of partitions of {quoted(errors.names('topic'))} moved:"
            f" {clients_text(errors.clients)} asked the former leader {times(errors.seen.times)} and was"
            " sent away."
        )

    def cost(self, errors: Errors) -> Cost:
        """Each one is tried again."""
        return Cost(retries=errors.seen.times)
