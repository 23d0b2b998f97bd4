"""BDY001: A body must hold every field of its version."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.body import Body
from kdissect.rules.rule import (
    Fault,
    MisfitRule,
)


class BodyTooShort(MisfitRule):
    """A body must hold every field of its version.

    A field of fixed width runs past the end of the frame.

    Example: 2 bytes where an int32 belongs.

    What to do: compare the fields written with `kdissect schema NAME VERSION`.
    """

    code = "BDY001"
    name = "body-too-short"
    cites = (
        "org.apache.kafka.message.MessageDataGenerator",
        "org.apache.kafka.common.protocol.ByteBufferAccessor",
    )
    kinds = frozenset({FaultKind.SHORT, FaultKind.OTHER})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The place where the bytes end."""
        yield misfit(body, error, "every field of the version")


def misfit(body: Body, error: DecodeError, expected: str) -> Fault:
    """A fault at the place where decoding stopped."""
    path = error.path.partition(".")[2]
    end = min(error.offset + 16, len(body.data))
    return Fault(expected, error.why, path, error.offset, end, body.side)
