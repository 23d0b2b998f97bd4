"""ADM004: -1 for "the broker's default" needs CreateTopics v4."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Versions


class DefaultCountTooEarly(BodyRule):
    """-1 for "the broker's default" needs CreateTopics v4.

    Older versions demand numbers, or assignments: brokers before 2.4 answer INVALID_PARTITIONS or
    INVALID_REPLICATION_FACTOR. Later ones take it in any version.

    Example: num_partitions -1 in v3.

    What to do: use v4, or give the numbers.
    """

    code = "ADM004"
    name = "default-count-too-early"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/003 CreateTopics API", "KIP-464 Proposed Changes")
    on = (("CreateTopics", REQUEST),)
    versions = Versions(0, 3)

    def check(self, body: Body) -> Iterator[Violation]:
        """Counts without assignments."""
        for index, topic in enumerate(body.value.topics):
            if not topic.assignments and (topic.num_partitions < 1 or topic.replication_factor < 1):
                partitions = plural(topic.num_partitions, "partition")
                seen = f"{partitions}, {plural(topic.replication_factor, 'replica')}"
                yield body.violation(f"topics[{index}]", "numbers above 0", seen)
