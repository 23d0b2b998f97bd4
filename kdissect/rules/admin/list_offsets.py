"""Rules: ListOffsets."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Below
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Versions

# Special timestamps and the ListOffsets version that brought them (KIP-734, KIP-405, KIP-1005, KIP-1023).
_SINCE = {-1: 0, -2: 0, -3: 7, -4: 8, -5: 9, -6: 11}


class UnknownSpecialTime(BodyRule):
    """A special timestamp should be known in the version of ListOffsets.

    -1 latest, -2 earliest, -3 maximum from v7, -4 earliest local from v8, -5 latest tiered from v9, -6
    earliest pending upload from v11. Brokers that know the number answer UNSUPPORTED_VERSION. Other
    brokers take it for a time before all records, and give the first offset: the caller takes it for a
    different one.

    Example: -3 in v6.

    What to do: use the version that has it.
    """

    code = "ADM001"
    name = "unknown-special-time"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "kafka.server.ReplicaManager#timestampMinSupportedVersion",
        "KIP-734 Proposed Changes",
        "KIP-405 Proposed Changes",
        "KIP-1005 Proposed Changes",
        "KIP-1023 Proposed Changes",
    )
    on = (("ListOffsets", REQUEST),)
    guard = (Below(("timestamp",), -2),)  # every version has -1 and -2

    def check(self, body: Body) -> Iterator[Violation]:
        """Negative timestamps."""
        for _, partition, at in body.partitions("topics"):
            time = partition.timestamp
            if time < 0 and _SINCE.get(time, body.version + 1) > body.version:
                since = _SINCE.get(time)
                expected = f"v{since} or later for {time}" if since is not None else "a time, or -1 to -6"
                yield body.violation(f"{at}.timestamp", expected, f"{time} in v{body.version}")


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
        """Yield the offsets of each partition."""
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
