"""`session-timeout-too-short`: brokers remove members that live, or refuse the length of a session."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from kdissect.causes.cause import Cause, ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.groups.group_story import rows_of, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, Claim, SymptomKind
from kdissect.model.cause import FoundCause, Severity

_INVALID_SESSION_TIMEOUT = 26  # org.apache.kafka.common.protocol.Errors
_LOST = "member_lost"
_FORGOTTEN = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})
HELP = (
    "Raise session.timeout.ms (group.consumer.session.timeout.ms of brokers for the new protocol) above"
    " the longest "
    "pause of the members: garbage collection, a suspended machine, a busy processor, or shorten the pauses."
)


class SessionTimeoutTooShort(Cause):
    """Members that were removed for silence and spoke again."""

    id = "session-timeout-too-short"
    title = "Sessions are shorter than the pauses of members"
    help = HELP
    cites = (
        "KIP-62 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#SESSION_TIMEOUT_MS_CONFIG",
    )
    claims = (Claim(SymptomKind.ERROR, GROUP_ERRORS),)
    explains = (
        "endless-rebalances",
        "flapping-member",
        "member-crashed",
        "rolling-restart",
        "stuck-consumer",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each group."""
        for story in stories(seen):
            forgotten = {
                row["client_id"]: row["count"]
                for row in rows_of(story, "failures")
                if row["error"] in _FORGOTTEN
            }
            lost = [name for name in story.came(_LOST) if name in forgotten]
            if not lost:
                continue
            gone = [one for name in lost for one in story.brought_about(_LOST, name=name)]
            gone.sort()
            yield self.found(
                f"Group '{story.name}' took {quoted(lost)} for dead {times(len(gone))}, and they were not:"
                " they paused"
                " longer than their session lasts, spoke again and had to join again.",
                who(story),
                story.of_member(*lost),
                story.seen(gone),
                story.cost(story.rebalances[1:]),
                f"groups {{files}} --group '{story.name}'",
            )


class SessionTimeoutRefused(ErrorCause):
    """Sessions of a length that the broker does not allow."""

    id = SessionTimeoutTooShort.id
    explains = SessionTimeoutTooShort.explains
    title = "A broker refuses the session timeout of a member"
    severity = Severity.STOPS
    codes = frozenset({_INVALID_SESSION_TIMEOUT})
    help = (
        "Set session.timeout.ms of the client between group.min.session.timeout.ms and"
        " group.max.session.timeout.ms of the brokers (6 s and 30 minutes unless configured), or change"
        " these limits."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#INVALID_SESSION_TIMEOUT",
        "org.apache.kafka.clients.consumer.ConsumerConfig#SESSION_TIMEOUT_MS_CONFIG",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return the client."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return the clients that may not join, and their groups."""
        return (
            f"{clients_text(errors.clients)} may not join group {quoted(errors.names('group'))}: the broker"
            f" allows no session of the length it asks for ({times(errors.seen.times)})."
        )

    def command(self, errors: Errors) -> str:
        """Return the command that lists the groups."""
        return "groups {files}"
