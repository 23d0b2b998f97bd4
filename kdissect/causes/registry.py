"""Every cause, by subject."""

from __future__ import annotations

from importlib import import_module

from kdissect.causes.cause import Cause, ErrorCause

# Modules below `kdissect.causes`. What a module holds comes in the order it stands there.
_MODULES = (
    "access.advertised_address",
    "access.cluster_denied",
    "access.connection_refused",
    "access.group_denied",
    "access.login_refused",
    "access.mechanism_refused",
    "access.plaintext_to_tls",
    "access.tls_handshake_failed",
    "access.tls_to_plaintext",
    "access.topic_denied",
    "groups.duplicate_static_member",
    "groups.endless_rebalances",
    "groups.flapping_member",
    "groups.member_crashed",
    "groups.rolling_restart",
    "groups.session_timeout_too_short",
    "groups.slow_poll",
    "producers.fenced_producer",
    "producers.invalid_records",
    "producers.leader_moved",
    "producers.message_too_large",
    "producers.not_enough_replicas",
    "producers.sequence_gap",
    "versions.version_refused",
)


def _causes() -> tuple[Cause, ...]:
    found: list[Cause] = []
    for name in _MODULES:
        module = import_module(f"kdissect.causes.{name}")
        for value in vars(module).values():
            is_cause = isinstance(value, type) and issubclass(value, Cause) and value is not ErrorCause
            if is_cause and value.__module__ == module.__name__:
                found.append(value())
    return tuple(found)


ALL_CAUSES = _causes()


def cause_by(cause_id: str) -> Cause | None:
    """The cause with an id."""
    return next((cause for cause in ALL_CAUSES if cause.id == cause_id), None)
