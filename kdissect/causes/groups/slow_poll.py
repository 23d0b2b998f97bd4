"""`slow-poll`: a member works longer between two polls than it may, and leaves its group for it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import GroupStory, held_up, rows_of, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.model.cause import FoundCause

_SILENT = 2  # times that a member comes back without a stated reason
_SAYS = "poll"  # "consumer poll timeout has expired." in the words of the Java client


class SlowPoll(Cause):
    """Members that leave and come back unchanged: by their stated reason, or without another reason."""

    id = "slow-poll"
    title = "A consumer takes too long between polls"
    help = (
        "Work less on each poll (max.poll.records), hand the work to another thread, or raise"
        " max.poll.interval.ms "
        "above the longest that one batch takes."
    )
    cites = (
        "KIP-62 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#MAX_POLL_INTERVAL_MS_CONFIG",
    )
    claims = (errors(GROUP_ERRORS),)
    explains = (
        "endless-rebalances",
        "flapping-member",
        "stuck-consumer",
        "lag-slow-consumer",
        "rolling-restart",
        "offset-rewound",
        "offset-not-passed",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each member of each group."""
        for story in stories(seen):
            yield from self._held_up(story)
            for name, says in _slow(story).items():
                left = story.brought_about("member_left", name=name) or story.brought_about("member_left")
                back = story.brought_about("member_joined", name=name)[1:]
                because = "it said that its poll timeout had expired" if says else "and came back each time"
                why = (
                    ""
                    if says
                    else "it left without a reason. A program that unsubscribes and subscribes looks so, too"
                )
                yield self.found(
                    f"Consumer '{name}' of group '{story.name}' left {times(max(len(left), 1))} because it"
                    f" did not ask for records in time ({because}). Each time {story.stops}."
                    f"{story.reads_again(seen, name)}",
                    who(story),
                    story.of_member(name),
                    story.seen(left or story.rebalances[-1:]),
                    story.cost(left + back),
                    f"groups {{files}} --group '{story.name}'",
                    why,
                )

    def _held_up(self, story: GroupStory) -> Iterator[FoundCause]:
        """Yield members that lived and did not join: they do that with the next poll."""
        for name, beats in held_up(story).items():
            lost = story.brought_about("member_lost", name=name)
            yield self.found(
                f"Consumer '{name}' of group '{story.name}' did not join a rebalance within the rebalance"
                f" timeout: {times(beats)} its heartbeats were answered REBALANCE_IN_PROGRESS, and it joins"
                " only when it polls.",
                who(story),
                story.of_member(name),
                story.seen(lost),
                story.cost(lost),
                f"groups {{files}} --group '{story.name}'",
            )


def _slow(story: GroupStory) -> dict[str, bool]:
    """Return members by name, and whether they said so."""
    found: dict[str, bool] = {}
    members = rows_of(story, "members")
    static = {row["client_id"] for row in members if row["instance_id"]}
    for row in members:
        if row["gone"] == "left" and _SAYS in (row["reason"] or ""):
            found[row["instance_id"] or row["client_id"] or row["member_id"]] = True
    for row in rows_of(story, "rejoins"):
        name, says = row["client_id"] or "", _SAYS in (row["reason"] or "")
        if row["after"] != "left" or name in static or not (says or not row["reason"]):
            continue
        if says or row["count"] >= _SILENT:
            found[name] = found.get(name, False) or says
    return found
