"""BDY004: A length must not be below -1."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.bodies.body_too_short import misfit
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.body_view import Body


class NegativeLength(MisfitRule):
    """A length must not be below -1.

    -1 says null. Java takes any negative length for null, others refuse it or read wild.

    Example: a string of length -2.

    What to do: send -1 for null.
    """

    code = "BDY004"
    name = "negative-length"
    cites = ("spec/000 Variable Length Primitives",)
    kinds = frozenset({FaultKind.NEGATIVE})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The length."""
        yield misfit(body, error, "-1 for null, or more")
