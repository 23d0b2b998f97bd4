"""`endless-rebalances`: a group rebalances again and again, or does not come to an end with it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import GroupStory, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.engine.times import ns_of
from kdissect.model.cause import Cost, FoundCause
from kdissect.report.quantities import duration

_MANY = 6
_EVERY_NS = 30 * SECOND_NS  # on the mean: more seldom, deployments cause them
_HELD_UP_NS = 4 * SECOND_NS  # this duration if members that do not join are seen, while a new group waits 3 s
_OPEN_NS = 10 * SECOND_NS  # a rebalance that takes so long is stuck


class EndlessRebalances(Cause):
    """Many rebalances without another cause, or a single one that lasts long."""

    id = "endless-rebalances"
    title = "A group rebalances all the time"
    help = (
        "See who comes and goes, and why: `kdissect groups --group` names it for each rebalance. Members"
        " that hold one up "
        "have not polled: max.poll.interval.ms bounds it."
    )
    cites = ("KIP-62 Motivation", "KIP-848 Motivation")
    claims = (errors(GROUP_ERRORS),)
    explains = ("stuck-consumer", "lag-slow-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group."""
        for story in stories(seen):
            yield from self._many(story)
            yield from self._open(story, seen)

    def _many(self, story: GroupStory) -> Iterator[FoundCause]:
        some = story.rebalances[1:]
        while some and all(how == "member_joined" for how, _ in some[0].causes):
            some = some[1:]  # a group that starts
        if story.is_of_workers:  # the leader joins again when connectors or tasks change (KIP-415)
            some = [one for one in some if any(how != "leader_rejoined" for how, _ in one.causes)]
        if len(some) < _MANY or some[-1].time_ns - some[0].time_ns > _EVERY_NS * len(some):
            return
        if story.is_resized:
            return
        span_ns = some[-1].time_ns - some[0].time_ns
        yield self.found(
            f"Group '{story.name}' rebalanced {times(len(some))} in {duration(span_ns)}; each time"
            f" {story.stops}.",
            who(story),
            story.of_member(*story.came("member_left", "member_lost", "member_joined")),
            story.seen(some),
            story.cost(some),
            f"groups {{files}} --group '{story.name}'",
            "why members come and go does not show",
        )

    def _open(self, story: GroupStory, seen: Evidence) -> Iterator[FoundCause]:
        under_way = story.row["rebalancing"]
        if under_way is None:
            return
        since_ns, answered_ns = ns_of(under_way["time"]), story.joined_ns
        lasted_ns, left_ns = seen.last_ns - since_ns, seen.last_ns - (answered_ns or 0)
        has_joined = left_ns < _HELD_UP_NS < lasted_ns - left_ns
        # Members that joined a moment ago had no time to send SyncGroup: it waited for others before.
        waiting = [] if has_joined else [name for name in under_way["waiting_for"] if name]
        if lasted_ns < (_HELD_UP_NS if waiting else _OPEN_NS):
            return
        joined_names = [name for name in under_way["joined"] if name]
        at = story.seen_open(since_ns, seen.last_ns)
        if has_joined:
            held = (
                f"its coordinator answered JoinGroup only {duration(left_ns)} before, no member is visible"
                " that it waited for"
            )
        else:
            held = f"it waits for {quoted(waiting)}" if waiting else "no member is visible that it waits for"
        yield self.found(
            f"Group '{story.name}' has been rebalancing for {duration(lasted_ns)} when the"
            f" capture ends: {held}, and {story.stops} until then.",
            who(story),
            story.of_member(*waiting, *joined_names),
            at,
            Cost(time_ns=lasted_ns * max(len(joined_names), 1)),
            f"groups {{files}} --group '{story.name}'",
            "the capture ends before it does" if waiting else "who holds it up does not show",
        )
