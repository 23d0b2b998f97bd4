"""FET011: acquired ranges should ascend, not overlap, and have been delivered at least once."""

from collections.abc import Iterator

from kdissect.model.finding import Level, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class BadAcquiredRecords(BodyRule):
    """Acquired ranges should ascend, not overlap, and have been delivered at least once.

    Example: offsets 5 to 3, or a delivery count of 0.

    What to do: send each acquired range once.
    """

    code = "FET011"
    name = "bad-acquired-records"
    level = Level.SHOULD
    who = Who.BROKER
    cites = ("KIP-932 Public Interfaces",)
    on = (("ShareFetch", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The ranges of each partition."""
        for _, partition, at in body.partitions("responses"):
            last = -1
            for number, held in enumerate(partition.acquired_records):
                path = f"{at}.acquired_records[{number}]"
                if not last < held.first_offset <= held.last_offset:
                    yield body.violation(
                        path, f"a range above {last}", f"{held.first_offset} to {held.last_offset}"
                    )
                if held.delivery_count < 1:
                    yield body.violation(path, "a delivery count of 1 or more", str(held.delivery_count))
                last = held.last_offset
