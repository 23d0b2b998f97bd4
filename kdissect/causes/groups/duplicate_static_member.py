"""`duplicate-static-member`: two members come with one group.instance.id, and fence each other."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity

_FENCED_INSTANCE_ID, _UNRELEASED_INSTANCE_ID = 82, 111  # org.apache.kafka.common.protocol.Errors


class DuplicateStaticMember(ErrorCause):
    """Members fenced for their instance id."""

    id = "duplicate-static-member"
    title = "Two members have one group.instance.id"
    severity = Severity.STOPS
    codes = frozenset({_FENCED_INSTANCE_ID, _UNRELEASED_INSTANCE_ID})
    help = (
        "Give each instance a group.instance.id of its own (the pod's name, not a constant of the"
        " deployment), and stop "
        "the old instance before its successor starts."
    )
    cites = (
        "KIP-345 Motivation",
        "org.apache.kafka.common.protocol.Errors#FENCED_INSTANCE_ID",
        "org.apache.kafka.clients.consumer.ConsumerConfig#GROUP_INSTANCE_ID_CONFIG",
    )
    explains = (
        "endless-rebalances",
        "flapping-member",
        "rolling-restart",
        "session-timeout-too-short",
        "slow-poll",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a group."""
        return key.group

    def sentence(self, errors: Errors) -> str:
        """Return which group, and who was shut out."""
        group, often = quoted(errors.names("group")), times(errors.seen.times)
        if all(key.code == _UNRELEASED_INSTANCE_ID for key in errors.keys):  # KIP-848
            return (
                f"{clients_text(errors.clients)} may not join group {group} ({often}): a member that is there"
                " has the same group.instance.id, and did not release it."
            )
        were = "was" if len(errors.clients) == 1 else "were"
        return (
            f"{clients_text(errors.clients)} {were} shut out of group {group} {often}:"
            " another member came with the same group.instance.id."
        )

    def command(self, errors: Errors) -> str:
        """Return the story of the group."""
        groups = errors.names("group")
        return f"groups {{files}} --group '{groups[0]}'" if groups else "groups {files}"
