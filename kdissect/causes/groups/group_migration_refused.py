"""`group-migration-refused`: a member comes to a group with another protocol, and the broker forbids it."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.history.api_keys import JOIN_GROUP
from kdissect.history.groups.modern_group import ModernKind
from kdissect.model.cause import Severity
from kdissect.schema.protocol_messages import api_name

_INCONSISTENT_GROUP_PROTOCOL, _GROUP_ID_NOT_FOUND = 23, 69  # org.apache.kafka.common.protocol.Errors
# The heartbeats by which members join a group of each protocol (KIP-848, KIP-932, KIP-1071).
_JOINS = {68: "consumer", 76: "share", 88: "streams"}
_OTHERS = {68: "has the classic protocol", JOIN_GROUP: "has the consumer protocol"}
# Messages of Apache Kafka 4.4.0 in response to such a heartbeat (GroupMetadataManager). A group that was
# deleted is "not found" instead.
_CANNOT = "Cannot upgrade classic group"
_OF_OTHER_TYPE = ("is not a consumer group", "is not a share group", "is not a streams group")
_POLICY = "online upgrade is disabled"

_NO_WORDS = "JoinGroup has no field for the broker's reason: the assignment strategies may not fit, either"


class GroupMigrationRefused(ErrorCause):
    """Members that a group of another protocol does not take."""

    id = "group-migration-refused"
    title = "A group does not accept a member with another protocol"
    severity = Severity.STOPS
    codes = frozenset({_INCONSISTENT_GROUP_PROTOCOL, _GROUP_ID_NOT_FOUND})
    apis = frozenset({JOIN_GROUP, *_JOINS})
    help = (
        "A group of consumers can have members of both protocols if group.consumer.migration.policy of the"
        " brokers allows it (upgrade, downgrade or bidirectional), and if the classic members use an assignor"
        " of Kafka. Otherwise stop all members first: an empty group takes the protocol of its next member. A"
        " group of another type needs another name."
    )
    cites = (
        "KIP-848 Motivation",
        "org.apache.kafka.common.protocol.Errors#GROUP_ID_NOT_FOUND",
        "org.apache.kafka.common.protocol.Errors#INCONSISTENT_GROUP_PROTOCOL",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a group, and the protocol that it does not accept."""
        return key.group, key.api_key

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return whether the broker says so, or the capture has members of the other protocol in
        the group.
        """
        if errors.keys[0].api_key == JOIN_GROUP:
            return _INCONSISTENT_GROUP_PROTOCOL in {key.code for key in errors.keys} and has_modern_members(
                errors, seen
            )
        said = seen.said(errors)
        return said.startswith(_CANNOT) or any(words in said for words in _OF_OTHER_TYPE)

    def sentence(self, errors: Errors) -> str:
        """Return the clients, the group, and their protocol."""
        key = errors.keys[0]
        mine = _JOINS.get(key.api_key, "classic")
        other = _OTHERS.get(key.api_key, "is of another type")
        return (
            f"{clients_text(errors.clients)} came {times(errors.seen.times)} to group"
            f" {quoted(errors.names('group'))} with the {mine} protocol ({api_name(key.api_key)}), and the"
            f" broker refused it ({', '.join(errors.times)}): the group {other}."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return the broker's words."""
        said = seen.said(errors)
        policy = " (group.consumer.migration.policy)" if _POLICY in said else ""
        return f'The broker says: "{said}"{policy}' if said else ""

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """JoinGroup has no field for the broker's words."""
        return "" if seen.said(errors) else _NO_WORDS


def has_modern_members(errors: Errors, seen: Evidence) -> bool:
    """Return whether the capture has members of the refused members' group that speak the protocol of
    KIP-848.
    """
    names = errors.names("group")
    return any(
        row["group"] in names
        and row["kind"] == ModernKind.CONSUMER
        and row["generation"]
        and row.get("cluster", "") == errors.cluster
        for row in seen.groups
    )
