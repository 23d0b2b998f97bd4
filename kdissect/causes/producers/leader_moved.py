"""`leader-moved`: partitions got other leaders, and clients found out by errors."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.history.api_keys import PRODUCE
from kdissect.model.cause import Cost, Severity
from kdissect.stats.client import Client

# Not the leader, and a former one by its epoch (org.apache.kafka.common.protocol.Errors).
_MOVED = frozenset({6, 74})
_FENCED = 74
LEAST = 3
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
        """Return whether a leader moved: for a new topic an error occurs once or twice, for an existing one a
        response names another leader.

        If no response names another leader, the errors of one client count: a tap on both sides of a NAT
        captures each of them twice.
        """
        if _is_seen(seen):
            return True
        if any(key.code == _FENCED for key in errors.keys):
            return errors.seen.times >= LEAST
        log = seen.gathering.log.errors
        by_client: dict[Client, int] = {}
        for key in errors.keys:
            known = log.peek(key)
            by_client[key.client] = by_client.get(key.client, 0) + (0 if known is None else known.times)
        return max(by_client.values()) >= LEAST

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return the doubt: a partition whose leader is not elected yet has no leader that could move."""
        if _is_seen(seen) or any(key.code == _FENCED for key in errors.keys):
            return ""
        return "the capture names no other leader: a topic that is being created looks the same"

    def alike(self, key: ErrorKey) -> Hashable:
        """Merge all partitions: one event moves many of them."""
        return None

    def sentence(self, errors: Errors) -> str:
        """Return which topics, and who noticed."""
        return (
            f"Partition leaders of {quoted(errors.names('topic'))} moved:"
            f" {clients_text(errors.clients)} asked the former leader {times(errors.seen.times)} and was"
            " sent away."
        )

    def cost(self, errors: Errors) -> Cost:
        """Each one is tried again."""
        return Cost(retries=errors.seen.times)


def _is_seen(seen: Evidence) -> bool:
    """Return whether brokers name another leader of a partition than before."""
    return any(known.fact.sure for known in seen.facts("LeaderFact.changed"))
