"""ADM012: the type of an election must be 0 or 1."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class BadElection(BodyRule):
    """The type of an election must be 0 or 1.

    Preferred or unclean; brokers refuse others.

    Example: election_type 2.

    What to do: send 0 or 1.
    """

    code = "ADM012"
    name = "bad-election"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.ElectionType#valueOf",)
    on = (("ElectLeaders", REQUEST),)
    versions = Versions(1, NO_UPPER_BOUND)
    overrides = ("BDY017",)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field."""
        if body.value.election_type not in (0, 1):
            yield body.violation("election_type", "0 or 1", str(body.value.election_type))
