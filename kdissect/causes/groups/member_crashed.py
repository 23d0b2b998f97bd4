"""`member-crashed`: a member went without a word, and its group waited for the end of its session."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.groups.group_story import GroupStory, Rebalance, held_up, rows_of, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.model.cause import Cost, FoundCause, Packets
from kdissect.report.quantities import duration
from kdissect.stats.by_group.group_log import MemberLog

_LOST = "member_lost"
_GAPS = 3  # as often as that it may miss one
_SILENT_NS = 10 * SECOND_NS
_FORGOTTEN = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})


class MemberCrashed(Cause):
    """Members that were lost and never spoke again."""

    id = "member-crashed"
    title = "A member of a group died"
    help = (
        "See why the process ended (killed, out of memory, its machine gone). Until its session ends"
        " no member reads its "
        "partitions: session.timeout.ms says how long. A process that closes its consumer leaves at once."
    )
    cites = (
        "KIP-62 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#SESSION_TIMEOUT_MS_CONFIG",
    )
    claims = (errors(GROUP_ERRORS),)
    explains = ("endless-rebalances", "unanswered-requests", "stuck-consumer", "lag-slow-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group."""
        for story in stories(seen):
            spoke = {row["client_id"] for row in rows_of(story, "failures") if row["error"] in _FORGOTTEN}
            # The heartbeats of members that did not join a rebalance went on: they live.
            alive = spoke | held_up(story).keys()
            lost = [name for name in story.came(_LOST) if name not in alive]
            gone = sorted(one for name in lost for one in story.brought_about(_LOST, name=name))
            if not gone:
                continue
            silent_ns = sum(_silence_ns(seen, story, one) for one in gone)
            yield self.found(
                f"{quoted(lost)} of group '{story.name}' died without leaving ({times(len(gone))}). The"
                " group noticed when"
                " its session was over, and no member read its partitions until then.",
                who(story),
                story.of_member(*lost),
                story.seen(gone),
                story.cost(gone) + Cost(time_ns=silent_ns),
                f"groups {{files}} --group '{story.name}'",
            )
        yield from self._silent(seen)

    def _silent(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield members whose session is not over when the capture ends, and who send nothing any more."""
        silent = _silent_members(seen)
        for story in stories(seen):
            for silent_ns, name, member in silent.get(story.name, ()):
                at = Seen()
                at.add(
                    Packets(member.connection, -1, f"last heartbeat of {name}", member.last_heartbeat_ns),
                    silent_ns,
                )
                at.last_ns += silent_ns
                yield self.found(
                    f"'{name}' of group '{story.name}' sent nothing for the last {duration(silent_ns)} of the"
                    f" capture and did not leave (before, a heartbeat every {duration(member.gaps.max)} at"
                    " least): no member reads its partitions until its session ends.",
                    who(story),
                    story.of_member(name),
                    at,
                    Cost(time_ns=silent_ns),
                    f"groups {{files}} --group '{story.name}'",
                    "a client that is suspended, or cut off by the network, looks the same",
                )


def _silent_members(seen: Evidence) -> dict[str, list[tuple[int, str, MemberLog]]]:
    """Return members by group that hold partitions and miss their heartbeats, and whose client is silent,
    too.

    With how long they are silent, and the client id.
    """
    spoke: dict[tuple[str, str], int] = {}
    for (_, client_id, host, _), tally in seen.background:
        spoke[client_id, host] = max(spoke.get((client_id, host), 0), tally.last_ns or 0)
    ends: dict[str, int] = {}
    left: dict[tuple[str | None, str], int] = {}
    for key, link in seen.gathering.links.items():
        ends[key.capture_set] = max(ends.get(key.capture_set, 0), link.last_ns)
        client_key = key.client_id, key.host
        left[client_key] = max(left.get(client_key, 0), link.left_ns)
    found: dict[str, list[tuple[int, str, MemberLog]]] = {}
    for (capture_set, group), log in seen.gathering.groups.logs.items():
        end_ns = ends.get(capture_set, 0)
        for member in log.members:
            client = member.client
            is_there = member.how is None and member.held and member.instance_id is None
            if not is_there or client is None or not client.client_id:
                continue
            last_ns = max(member.last_heartbeat_ns, spoke.get((client.client_id, client.address), 0))
            is_silent = member.gaps.count and end_ns - last_ns > max(_SILENT_NS, _GAPS * member.gaps.max)
            # A program that ended closed its connections, and it does not matter if the whole group ended.
            is_over = left.get((client.client_id, client.address), 0) >= last_ns and not any(
                other.last_heartbeat_ns > last_ns for other in log.members
            )
            if is_silent and not is_over:
                silent_ns = end_ns - member.last_heartbeat_ns
                found.setdefault(group, []).append((silent_ns, client.client_id, member))
    return found


def _silence_ns(seen: Evidence, story: GroupStory, rebalance: Rebalance) -> int:
    """From the last heartbeat of a member that was lost to the rebalance that noticed it."""
    lost = {member for how, member in rebalance.causes if how == _LOST}
    spoke = [
        member.last_heartbeat_ns
        for (_, group), log in seen.gathering.groups.logs.items()
        for member in log.members
        if group == story.name and member.name in lost and 0 < member.last_heartbeat_ns < rebalance.time_ns
    ]
    return rebalance.time_ns - max(spoke) if spoke else 0
