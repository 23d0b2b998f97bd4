"""ADM011: the offset of DeleteRecords must be -1 or more."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class OddDeleteOffset(BodyRule):
    """The offset of DeleteRecords must be -1 or more.

    -1 means the high watermark. Others below 0 are refused with OFFSET_OUT_OF_RANGE.

    Example: offset -2.

    What to do: send -1 to delete everything.
    """

    code = "ADM011"
    name = "odd-delete-offset"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("spec/003 DeleteRecords API", "kafka.cluster.Partition#deleteRecordsOnLeader")
    on = (("DeleteRecords", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Each partition's offset."""
        for _, partition, at in body.partitions("topics"):
            if partition.offset < -1:
                yield body.violation(f"{at}.offset", "-1 or more", str(partition.offset))
