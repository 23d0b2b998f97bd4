"""All sequences, with the APIs that each needs."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.conform.broker_run import BrokerRun
from kdissect.conform.sequences.classic_groups import classic_groups, committed_offsets
from kdissect.conform.sequences.client_quotas import client_quotas
from kdissect.conform.sequences.fetch_sessions import fetch_sessions
from kdissect.conform.sequences.heartbeat_groups import (
    CONSUMER,
    SHARE,
    STREAMS,
    consumer_groups,
    streams_groups,
)
from kdissect.conform.sequences.share_groups import share_groups, shared_records
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
    "fetch sessions": (fetch_sessions, ("Produce", "Fetch")),
    "transactions": (
        transactions,
        ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "Produce", "Fetch"),
    ),
    "committed offsets": (committed_offsets, ("FindCoordinator", "OffsetCommit", "OffsetFetch")),
    "classic groups": (
        classic_groups, ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    ),
    "consumer groups": (consumer_groups, ("FindCoordinator", CONSUMER)),
    "share groups": (share_groups, ("FindCoordinator", SHARE)),
    "shared records": (
        shared_records, ("FindCoordinator", SHARE, "ShareFetch", "ShareAcknowledge", "Produce"),
    ),
    "streams groups": (streams_groups, ("FindCoordinator", STREAMS)),
    "client quotas": (client_quotas, ("AlterClientQuotas", "Produce")),
}  # fmt: skip
"""Sequences by name, in the order in which they run."""
