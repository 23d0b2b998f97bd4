"""`rolling-restart`: the members of a group are restarted one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, quoted
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.groups.flapping_member import flapping
from kdissect.causes.groups.group_story import stories, who
from kdissect.causes.ledger.symptom import GROUP_ERRORS, errors
from kdissect.model.cause import FoundCause
from kdissect.model.wording import plural

_WENT = ("member_left", "member_lost")
_MEMBERS = 2  # that went and came again


class RollingRestart(Cause):
    """Several members that went and came again, each about once."""

    id = "rolling-restart"
    title = "The members of a group are restarted one by one"
    help = (
        "A deployment does this. With group.instance.id for each member (and a session longer than a"
        " restart) it costs no rebalance. "
        "Cooperative assignment, or the new protocol (group.protocol=consumer), makes each one"
        " cheaper."
    )
    cites = (
        "KIP-345 Motivation",
        "KIP-848 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#GROUP_INSTANCE_ID_CONFIG",
    )
    claims = (errors(GROUP_ERRORS),)
    explains = ("endless-rebalances", "member-crashed", "connection-churn")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group."""
        for story in stories(seen):
            went, came = story.came(*_WENT), story.came("member_joined", "first_member")
            again = [name for name in went if came[name] > 1]
            if len(again) < _MEMBERS or flapping(story) is not None:
                continue
            rebalances = [
                one
                for one in story.rebalances
                if any(how in (*_WENT, "member_joined") and name in again for how, name in one.causes)
            ]
            start = min(one.time_ns for one in story.brought_about(*_WENT))
            rebalances = [one for one in rebalances if one.time_ns >= start]
            yield self.found(
                f"{plural(len(again), 'member')} of group '{story.name}' ({quoted(again)}) went and came"
                " again one after the"
                f" other: {plural(len(rebalances), 'rebalance')}, in each of which {story.stops}.",
                who(story),
                story.of_member(*again),
                story.seen(rebalances),
                story.cost(rebalances),
                f"groups {{files}} --group '{story.name}'",
            )
