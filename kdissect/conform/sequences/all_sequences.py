"""All sequences, with the APIs that each needs."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.conform.broker_run import BrokerRun
from kdissect.conform.sequences.classic_groups import classic_groups, committed_offsets
from kdissect.conform.sequences.topics_and_records import (
    idempotence,
    offsets_of_log,
    records,
    topics,
    unknown_topics,
)
from kdissect.conform.sequences.transactions import transactions

SEQUENCES: dict[str, tuple[Callable[[BrokerRun], None], tuple[str, ...]]] = {
    "topics": (topics, ("CreateTopics", "DeleteTopics")),
    "records": (records, ("Produce", "Fetch")),
    "offsets of the log": (offsets_of_log, ("Produce", "Fetch", "ListOffsets")),
    "idempotence": (idempotence, ("Produce", "InitProducerId")),
    "unknown topics": (unknown_topics, ("Produce", "Fetch")),
    "committed offsets": (committed_offsets, ("FindCoordinator", "OffsetCommit", "OffsetFetch")),
    "classic groups": (
        classic_groups, ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    ),
    "transactions": (
        transactions,
        ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "Produce", "Fetch"),
    ),
}  # fmt: skip
"""Sequences by name, in the order in which they run."""
