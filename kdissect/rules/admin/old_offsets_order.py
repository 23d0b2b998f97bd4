"""ADM002: listOffsets v0 must answer at most max_num_offsets offsets, descending."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Versions


class OldOffsetsOrder(BodyRule):
    """ListOffsets v0 must answer at most max_num_offsets offsets, descending.

    Example: one offset asked for, two answered.

    What to do: send the newest first, and no more than asked.
    """

    code = "ADM002"
    name = "old-offsets-order"
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("kafka.log.UnifiedLog#legacyFetchOffsetsBefore", "spec/000 Offsets API")
    on = (("ListOffsets", RESPONSE),)
    versions = Versions(0, 0)

    def check(self, body: Body) -> Iterator[Violation]:
        """The offsets of each partition."""
        asked = body.other()
        if asked is None:
            return
        most = {(t.name, p.partition_index): p.max_num_offsets for t in asked.topics for p in t.partitions}
        for topic, partition, at in body.partitions("topics"):
            path = f"{at}.old_style_offsets"
            offsets = list(partition.old_style_offsets)
            limit = most.get((topic.name, partition.partition_index), len(offsets))
            if len(offsets) > limit:
                yield body.violation(
                    path, f"at most {plural(limit, 'offset')}", plural(len(offsets), "offset")
                )
            elif offsets != sorted(offsets, reverse=True):
                yield body.violation(path, "descending offsets", ", ".join(map(str, offsets[:8])))
