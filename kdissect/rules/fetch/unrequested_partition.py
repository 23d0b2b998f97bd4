"""FET004: A full fetch must be answered with the partitions it asked for."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Who
from kdissect.rules.guards import Above, All, Fact, InRequest, Not
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class UnrequestedPartition(BodyRule):
    """A full fetch must be answered with the partitions it asked for.

    Incremental fetches answer for the whole session and are left out.

    Example: partition 0 asked for, partition 1 answered.

    What to do: answer what was asked.
    """

    code = "FET004"
    name = "unrequested-partition"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-227", "spec/003 Fetch API")
    on = (("Fetch", RESPONSE),)
    overrides = ("FET014",)
    guard = (All((Fact.OTHER_PARTITIONS, InRequest(Not(Above((".session_epoch",), 0))))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Answered partitions that a full fetch did not name."""
        asked = body.other()
        if asked is None or getattr(asked, "session_epoch", -1) > 0:
            return
        wanted = {(_topic(t), p.partition) for t in asked.topics for p in t.partitions}
        for topic, partition, at in body.partitions("responses"):
            if (_topic(topic), partition.partition_index) not in wanted:
                yield body.violation(
                    f"{at}.partition_index", "a partition of the request",
                    f"{_topic(topic)} partition {partition.partition_index}",
                )  # fmt: skip


def _topic(topic: Any) -> str:
    name = getattr(topic, "topic", None)
    return str(name) if name is not None else bytes(topic.topic_id).hex()
