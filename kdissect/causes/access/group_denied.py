"""`group-denied`: a client may not join or commit for a group."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity

_GROUP_AUTHORIZATION_FAILED = 30  # org.apache.kafka.common.protocol.Errors


class GroupDenied(ErrorCause):
    """Errors of authorization about groups."""

    id = "group-denied"
    title = "A client may not use a group"
    severity = Severity.STOPS
    codes = frozenset({_GROUP_AUTHORIZATION_FAILED})
    help = "Give the user Read on the group (kafka-acls.sh --add --group), or correct the client's group.id."
    cites = ("org.apache.kafka.common.protocol.Errors#GROUP_AUTHORIZATION_FAILED", "KIP-290 Motivation")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return all groups that a client is refused."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and which groups."""
        groups = errors.names("group")
        named = f"group {quoted(groups)}" if groups else "its group"
        return (
            f"{clients_text(errors.clients)} was refused {times(errors.seen.times)}: it may not use {named}."
        )
