"""MET002: the leader of a partition should be among the brokers of the same answer."""

from collections.abc import Iterator

from kdissect.model.finding import Level, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class UnknownLeader(BodyRule):
    """The leader of a partition should be among the brokers of the same answer.

    A client cannot connect to a leader whose address it was not told.

    Example: leader 3 where only brokers 1 and 2 are listed.

    What to do: list every live broker; send -1 and LEADER_NOT_AVAILABLE without one.
    """

    code = "MET002"
    name = "unknown-leader"
    level = Level.SHOULD
    who = Who.BROKER
    cites = ("spec/000 Metadata API",)
    on = (("Metadata", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Leaders of partitions without an error."""
        brokers = {broker.node_id for broker in body.value.brokers}
        for _, partition, at in body.partitions("topics"):
            leader = partition.leader_id
            if partition.error_code == 0 and leader >= 0 and leader not in brokers:
                path = f"{at}.leader_id"
                yield body.violation(path, f"one of {sorted(brokers)}", str(leader))
