"""Rules: acknowledgements of shared records."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_GAP, _RENEW = 0, 4  # acknowledgeType


class BadAckBatches(BodyRule):
    """Acknowledgement batches must ascend, not overlap, and hold one type or one for each offset.

    Brokers answer INVALID_REQUEST.

    Example: offsets 5 to 9 before offsets 0 to 6.

    What to do: sort and merge what is acknowledged.
    """

    code = "FET009"
    name = "bad-ack-batches"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-932 Public Interfaces", "kafka.server.KafkaApis#validateAcknowledgementBatches")
    on = (("ShareFetch", REQUEST), ("ShareAcknowledge", REQUEST))
    overrides = ("BDY017", "BDY031")
    guard = (Longer(("acknowledgement_batches",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each batch of each partition."""
        for _, partition, path in body.partitions("topics"):
            last = -1
            for index, batch in enumerate(partition.acknowledgement_batches):
                why = _wrong(batch, last)
                if why:
                    yield body.violation(f"{path}.acknowledgement_batches[{index}]", why[0], why[1])
                last = batch.last_offset


def _wrong(batch: Any, last: int) -> tuple[str, str] | None:
    first, end, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
    if first > end:
        return "first_offset <= last_offset", f"{first} to {end}"
    if first <= last:
        return f"offsets above {last}", f"{first} to {end}"
    if len(types) not in (1, end - first + 1):
        return f"1 or {end - first + 1} types", f"{len(types)} types"
    odd = [kind for kind in types if not _GAP <= kind <= _RENEW]
    return ("types 0 to 4", f"type {odd[0]}") if odd else None


class RenewTooEarly(BodyRule):
    """RENEW needs v2 and is_renew_ack.

    Older versions know the types 0 to 3.

    Example: acknowledge type 4 in ShareAcknowledge v1.

    What to do: use v2 and set is_renew_ack.
    """

    code = "FET010"
    name = "renew-too-early"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-1222 Public Interfaces",)
    on = (("ShareFetch", REQUEST), ("ShareAcknowledge", REQUEST))
    guard = (Longer(("acknowledgement_batches",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the type 4 where the request does not say it renews."""
        if getattr(body.value, "is_renew_ack", False):
            return
        for _, partition, path in body.partitions("topics"):
            for index, batch in enumerate(partition.acknowledgement_batches):
                if _RENEW in batch.acknowledge_types:
                    yield body.violation(
                        f"{path}.acknowledgement_batches[{index}]", "is_renew_ack with type 4", "type 4"
                    )
