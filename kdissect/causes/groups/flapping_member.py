"""`flapping-member`: one member comes and goes, and its group with it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.group_story import GroupStory, stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.model.cause import FoundCause

_WENT = ("member_left", "member_lost")
OFTEN = 2  # times that one member went and came again
_SHARE = 0.7  # of all that go: else all members do, and it is a restart of the group


class FlappingMember(Cause):
    """A member that went and came again, again and again, while others stayed."""

    id = "flapping-member"
    title = "One member comes and goes"
    help = (
        "See why this process ends and is started again (its exit code, its log, the limits of its"
        " container). "
        "group.instance.id keeps a short absence from causing a rebalance."
    )
    cites = (
        "KIP-345 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#GROUP_INSTANCE_ID_CONFIG",
    )
    claims = (errors(GROUP_ERRORS),)
    explains = ("endless-rebalances", "member-crashed", "connection-churn")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group."""
        for story in stories(seen):
            name = flapping(story)
            if name is None:
                continue
            went = story.brought_about(*_WENT, name=name)
            yield self.found(
                f"'{name}' left group '{story.name}' and came back {times(len(went))}; each time"
                f" {story.stops}.",
                who(story),
                story.of_member(name),
                story.seen(went),
                story.cost([*went, *story.brought_about("member_joined", name=name)[1:]]),
                f"groups {{files}} --group '{story.name}'",
            )


def flapping(story: GroupStory) -> str | None:
    """Return the member that comes and goes."""
    went, came = story.came(*_WENT), story.came("member_joined", "first_member")
    if not went:
        return None
    name, count = went.most_common(1)[0]
    if count < OFTEN or came[name] <= 1 or count < _SHARE * went.total():
        return None
    return name
