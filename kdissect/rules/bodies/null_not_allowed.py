"""BDY003: null must not stand in a field that is not nullable in this version."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.bodies.body_too_short import misfit
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.body_view import Body


class NullNotAllowed(MisfitRule):
    """Null must not stand in a field that is not nullable in this version.

    Java brokers fail with "non-nullable field was serialized as null" and close the connection. Metadata v0
    is one case: there an empty list asks for all topics, null only from v1 on (spec/004's example has null in
    v0), and OffsetFetch topics may be null from v2 on.

    Example: length -1 for the topics of Metadata v0.

    What to do: send the empty value.
    """

    code = "BDY003"
    name = "null-not-allowed"
    cites = ("org.apache.kafka.message.MessageDataGenerator", "spec/003 Metadata API")
    kinds = frozenset({FaultKind.NULL})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The length that says null."""
        yield misfit(body, error, "a value, empty if need be")
