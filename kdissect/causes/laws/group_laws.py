"""Laws about members of groups."""

from __future__ import annotations

from kdissect.causes.cause import quoted, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import GroupStory, held_up, stories
from kdissect.causes.laws.law import named
from kdissect.model.cause import FoundCause


def group_has_other_members(cause: FoundCause, seen: Evidence) -> str:
    """Return the objection that a member cannot hold up a group of which it is the only member."""
    for story in _of(cause, seen):
        if story.rebalances and max(one.members for one in story.rebalances) <= 1:
            return f"group '{story.name}' never had another member"
    return ""


def lost_members_were_silent(cause: FoundCause, seen: Evidence) -> str:
    """Object if the heartbeats of the lost members went on until the end of the rebalance: they were removed
    for another reason.
    """
    for story in _of(cause, seen):
        held = held_up(story)
        lost = set(story.came("member_lost"))
        if lost and lost <= held.keys():
            return (
                f"the heartbeats of {quoted(sorted(held))} went on during the rebalance, answered"
                f" REBALANCE_IN_PROGRESS {times(sum(held.values()))}"
            )
    return ""


def _of(cause: FoundCause, seen: Evidence) -> list[GroupStory]:
    """Return the groups that a cause concerns."""
    groups = named(cause, "group")
    return [story for story in stories(seen) if story.name in groups]
