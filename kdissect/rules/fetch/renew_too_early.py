"""FET010: RENEW needs v2 and is_renew_ack."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.fetch.bad_ack_batches import RENEW, batches
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.views.body_view import Body


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
    cites = ("KIP-1222",)
    on = (("ShareFetch", REQUEST), ("ShareAcknowledge", REQUEST))

    def check(self, body: Body) -> Iterator[Fault]:
        """Type 4 where the request does not say it renews."""
        if getattr(body.value, "is_renew_ack", False):
            return
        for path, _, found in batches(body):
            for index, batch in enumerate(found):
                if RENEW in batch.acknowledge_types:
                    yield body.fault(
                        f"{path}.acknowledgement_batches[{index}]", "is_renew_ack beside type 4", "type 4"
                    )
