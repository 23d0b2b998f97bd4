"""`member-crashed`: a member went without a word, and its group waited for the end of its session."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import GroupStory, Rebalance, rows_of, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.model.cause import Cost, FoundCause

_LOST = "member_lost"
_FORGOTTEN = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})


class MemberCrashed(Cause):
    """Members that were lost and never spoke again."""

    id = "member-crashed"
    title = "A member of a group died"
    help = (
        "See why the process ended (killed, out of memory, its machine gone). Until its session ends"
        " nobody reads its "
        "partitions: session.timeout.ms says how long; a process that closes its consumer leaves at once."
    )
    cites = (
        "KIP-62 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#SESSION_TIMEOUT_MS_CONFIG",
    )
    claims = (errors(GROUP_ERRORS),)
    explains = ("endless-rebalances", "unanswered-requests", "stuck-consumer", "lag-slow-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each group."""
        for story in stories(seen):
            spoke = {row["client_id"] for row in rows_of(story, "failures") if row["error"] in _FORGOTTEN}
            lost = [name for name in story.came(_LOST) if name not in spoke]
            gone = sorted(one for name in lost for one in story.brought_about(_LOST, name=name))
            if not gone:
                continue
            silent_ns = sum(_silence_ns(seen, story, one) for one in gone)
            yield self.found(
                f"{quoted(lost)} of group '{story.name}' died without leaving ({times(len(gone))}); the"
                " group noticed when"
                " its session was over, and nobody read its partitions until then.",
                who(story),
                story.of_member(*lost),
                story.seen(gone),
                story.cost(gone) + Cost(time_ns=silent_ns),
                f"groups {{files}} --group '{story.name}'",
            )


def _silence_ns(seen: Evidence, story: GroupStory, rebalance: Rebalance) -> int:
    """From the last heartbeat of a member that was lost to the rebalance that noticed it."""
    lost = {member for how, member, _ in rebalance.causes if how == _LOST}
    spoke = [
        member.last_heartbeat_ns
        for (_, group), log in seen.gathering.groups.logs.items()
        for member in log.members
        if group == story.name and member.name in lost and 0 < member.last_heartbeat_ns < rebalance.time_ns
    ]
    return rebalance.time_ns - max(spoke) if spoke else 0
