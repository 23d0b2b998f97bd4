"""Every cause, by subject."""

from __future__ import annotations

from importlib import import_module

from kdissect.causes.cause import Cause, ErrorCause
from kdissect.causes.general.general_cause import GeneralCause

# Modules below `kdissect.causes`. The order of a module's classes is kept.
_MODULES = (
    "access.advertised_address",
    "access.cluster_denied",
    "access.connection_refused",
    "access.group_denied",
    "access.login_missing",
    "access.login_refused",
    "access.mechanism_refused",
    "access.reauthentication_refused",
    "access.plaintext_to_tls",
    "access.proxy_header_refused",
    "access.sasl_not_enabled",
    "access.session_expired",
    "access.tls_handshake_failed",
    "access.tls_to_plaintext",
    "access.topic_denied",
    "access.wrong_cluster",
    "brokers.broker_restarted",
    "brokers.coordinator_unavailable",
    "brokers.health_probe",
    "brokers.idle_connection_closed",
    "brokers.idle_connection_reset",
    "brokers.stalled_broker",
    "brokers.storage_error",
    "capture.capture_too_poor",
    "consumers.commit_storm",
    "consumers.fetch_session_churn",
    "consumers.followers_not_used",
    "consumers.hot_partition",
    "consumers.lag_slow_consumer",
    "consumers.offset_reset",
    "consumers.offset_rewound",
    "consumers.offsets_deleted",
    "consumers.offsets_set_by_tool",
    "consumers.poison_pill",
    "consumers.records_held_back",
    "consumers.records_redelivered",
    "consumers.response_too_large",
    "consumers.share_lock_expired",
    "consumers.spinning_consumer",
    "consumers.stuck_consumer",
    "groups.duplicate_static_member",
    "groups.endless_rebalances",
    "groups.flapping_member",
    "groups.group_migration_refused",
    "groups.member_crashed",
    "groups.partitions_not_released",
    "groups.protocols_differ",
    "groups.rolling_restart",
    "groups.session_timeout_too_short",
    "groups.slow_poll",
    "metadata.connection_churn",
    "metadata.metadata_storm",
    "metadata.partition_offline",
    "metadata.topic_created_by_accident",
    "metadata.topic_recreated",
    "metadata.unknown_topic",
    "producers.duplicate_writes",
    "producers.epoch_not_adopted",
    "producers.fenced_producer",
    "producers.hanging_transaction",
    "producers.invalid_records",
    "producers.leader_moved",
    "producers.message_too_large",
    "producers.not_enough_replicas",
    "producers.producer_forgotten",
    "producers.recompressed",
    "producers.records_dropped",
    "producers.sequence_gap",
    "producers.tiny_batches",
    "producers.transaction_timeout",
    "producers.transactional_id_expired",
    "producers.uncompressed",
    "time.lossy_network",
    "time.slow_broker",
    "time.slow_client",
    "time.slow_network",
    "time.throttled_controller",
    "time.throttled_fetch",
    "time.throttled_produce",
    "time.throttled_requests",
    "time.unanswered_requests",
    "versions.feature_not_finalized",
    "versions.old_client",
    "versions.version_refused",
    "versions.version_removed_by_upgrade",
    "versions.api_versions_dropped",
    # After all that says why a broker closes.
    "brokers.broker_closes",
    # Last: they report what no other cause claims.
    "general.failed_connections",
    "general.unreadable_bytes",
    "general.reported_trouble",
    "general.failing_requests",
    "general.unanswered_requests",
    "general.late_responses",
    "general.offset_not_passed",
)


_BASES = (ErrorCause, GeneralCause)


def _causes() -> tuple[Cause, ...]:
    found: list[Cause] = []
    for name in _MODULES:
        module = import_module(f"kdissect.causes.{name}")
        for value in vars(module).values():
            is_cause = isinstance(value, type) and issubclass(value, Cause) and value not in _BASES
            if is_cause and value.__module__ == module.__name__:
                found.append(value())
    return tuple(found)


ALL_CAUSES = _causes()


def cause_by(cause_id: str) -> Cause | None:
    """Return the cause with an id."""
    return next((cause for cause in ALL_CAUSES if cause.id == cause_id), None)
