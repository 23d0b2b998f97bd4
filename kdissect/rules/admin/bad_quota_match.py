"""ADM008: A quota filter must have a match for EXACT, and none for DEFAULT and SPECIFIED."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class BadQuotaMatch(BodyRule):
    """A quota filter must have a match for EXACT, and none for DEFAULT and SPECIFIED.

    Example: match_type 0 (EXACT) and match null.

    What to do: send the name, or another match type.
    """

    code = "ADM008"
    name = "bad-quota-match"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.requests.DescribeClientQuotasRequest#filter",)
    on = (("DescribeClientQuotas", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Type and match of each component."""
        for index, component in enumerate(body.value.components):
            if (component.match_type == 0) == (component.match is None):
                held = "null" if component.match is None else "a match"
                seen = f"match type {component.match_type} with {held}"
                yield body.violation(f"components[{index}].match", "a match for EXACT alone", seen)
