"""MET014: OffsetForLeaderEpoch must not answer with a later epoch than the one asked for."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class LaterEpoch(BodyRule):
    """OffsetForLeaderEpoch must not answer with a later epoch than the one asked for.

    The leader answers with the largest epoch that is not above the one asked for, and with the offset where
    that one ends. A follower or consumer truncates or resets by it.

    Example: epoch 4 asked for, epoch 7 answered.

    What to do: look up the epoch at or below the one asked for.
    """

    code = "MET014"
    name = "later-epoch"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/003 OffsetForLeaderEpoch API", "KIP-320 Proposed Changes")
    on = (("OffsetForLeaderEpoch", RESPONSE),)
    versions = Versions(1, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition against its request."""
        asked = body.other()
        if asked is None:
            return
        wanted: dict[tuple[str, int], int] = {}
        for topic in asked.topics:
            for row in topic.partitions:
                most = wanted.get((topic.topic, row.partition), row.leader_epoch)
                wanted[topic.topic, row.partition] = max(most, row.leader_epoch)
        for topic, partition, at in body.partitions("topics"):
            latest = wanted.get((topic.topic, partition.partition))
            if latest is not None and not partition.error_code and partition.leader_epoch > latest:
                yield body.violation(f"{at}.leader_epoch", f"{latest} or less", str(partition.leader_epoch))
