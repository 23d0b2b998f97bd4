"""`session-timeout-too-short`: brokers treat live members as dead, or refuse their session timeout."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import rows_of, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause

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
        "org.apache.kafka.common.protocol.Errors#INVALID_SESSION_TIMEOUT",
    )
    claims = (Claim(SymptomKind.ERROR, {*GROUP_ERRORS, _INVALID_SESSION_TIMEOUT}),)
    explains = (
        "endless-rebalances",
        "flapping-member",
        "member-crashed",
        "rolling-restart",
        "stuck-consumer",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group, and the clients whose session timeout the broker refuses."""
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
        for errors in seen.errors({_INVALID_SESSION_TIMEOUT}):
            yield self.found(
                f"{clients_text(errors.clients)} may not join group {quoted(errors.names('group'))}: the"
                " broker allows no"
                f" session of the length it asks for ({times(errors.seen.times)}).",
                clients_text(errors.clients),
                errors.parties,
                errors.seen,
                Cost(errors=errors.seen.times),
                "groups {files}",
            )
