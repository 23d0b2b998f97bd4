"""All sequences, with the APIs that each needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kdissect.conform.broker_run import BrokerRun
from kdissect.conform.sequences.access_rules import access_rules
from kdissect.conform.sequences.classic_groups import classic_groups, committed_offsets
from kdissect.conform.sequences.client_metrics import client_metrics
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
    deleted_records,
    idempotence,
    offsets_of_log,
    records,
    topics,
    unanswered_records,
    unknown_topics,
)
from kdissect.conform.sequences.transactions import transactions, transactions_v2


class Sequence(NamedTuple):
    """A sequence with the APIs that it needs, and those that it uses also if the broker has them."""

    play: Callable[[BrokerRun], None]
    needs: tuple[str, ...]
    also: tuple[str, ...] = ()


SEQUENCES = {
    "topics": Sequence(topics, ("CreateTopics", "DeleteTopics")),
    "records": Sequence(records, ("Produce", "Fetch")),
    "unanswered records": Sequence(unanswered_records, ("Produce",)),
    "offsets of the log": Sequence(offsets_of_log, ("Produce", "Fetch", "ListOffsets")),
    "deleted records": Sequence(
        deleted_records, ("CreateTopics", "DeleteRecords", "Produce", "Fetch", "ListOffsets")
    ),
    "idempotence": Sequence(idempotence, ("Produce", "InitProducerId")),
    "unknown topics": Sequence(unknown_topics, ("Produce", "Fetch")),
    "fetch sessions": Sequence(fetch_sessions, ("Produce", "Fetch")),
    "transactions": Sequence(
        transactions,
        ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "Produce", "Fetch"),
        ("DescribeTransactions", "DescribeProducers"),
    ),
    "transactions v2": Sequence(transactions_v2, ("FindCoordinator", "InitProducerId", "EndTxn", "Produce")),
    "committed offsets": Sequence(committed_offsets, ("FindCoordinator", "OffsetCommit", "OffsetFetch")),
    "classic groups": Sequence(
        classic_groups, ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
    ),
    "consumer groups": Sequence(
        consumer_groups, ("FindCoordinator", CONSUMER), ("ConsumerGroupDescribe", "OffsetCommit")
    ),
    "share groups": Sequence(share_groups, ("FindCoordinator", SHARE)),
    "shared records": Sequence(
        shared_records, ("FindCoordinator", SHARE, "ShareFetch", "ShareAcknowledge", "Produce")
    ),
    "streams groups": Sequence(streams_groups, ("FindCoordinator", STREAMS)),
    "access rules": Sequence(access_rules, ("DescribeAcls", "CreateAcls", "DeleteAcls")),
    "client metrics": Sequence(client_metrics, ("GetTelemetrySubscriptions",)),
    "client quotas": Sequence(client_quotas, ("AlterClientQuotas", "Produce")),
}
"""Sequences by name, in the order in which they run."""
