"""`member-crashed`: a member went without a word, and its group waited for the end of its session."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import rows_of, stories, who
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
    explains = ("endless-rebalances", "unanswered-requests", "stuck-consumer", "lag-slow-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each group."""
        for story in stories(seen):
            spoke = {row["client_id"] for row in rows_of(story, "failures") if row["error"] in _FORGOTTEN}
            lost = [name for name in story.came(_LOST) if name not in spoke]
            gone = sorted(one for name in lost for one in story.brought_about(_LOST, name=name))
            if not gone:
                continue
            silent_ns = sum(_silence_ns(story.row, name, gone[0].time_ns) for name in lost)
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


def _silence_ns(row: dict[str, object], name: str, until_ns: int) -> int:
    """Sessions are seconds long; how long exactly, the members' last heartbeats would say."""
    return 0
