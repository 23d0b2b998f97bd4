"""BDY002: A length or count must not exceed the bytes left."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.bodies.body_too_short import misfit
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.body_view import Body


class LengthBeyondFrame(MisfitRule):
    """A length or count must not exceed the bytes left.

    A string, bytes field or array says it is longer than the rest of the frame. Readers that allocate first
    and read later run out of memory; Apache Kafka refuses.

    Example: a count of 1,000,000 in a frame with 40 bytes left.

    What to do: check whether lengths are compact (n + 1) in this version.
    """

    code = "BDY002"
    name = "length-beyond-frame"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator",
        "org.apache.kafka.common.protocol.ByteBufferAccessor",
    )
    kinds = frozenset({FaultKind.LENGTH})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The length that does not fit."""
        yield misfit(body, error, "at most the bytes left in the frame")
