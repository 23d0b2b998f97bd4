"""FRM006: A frame must end where its body ends."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.wording import plural
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.body_view import Body


class TrailingBytes(UndecodableRule):
    """A frame must end where its body ends.

    The body decodes, and bytes are left over. Java readers ignore them, others refuse the frame. Either way
    the sender and the schema disagree about what the body is. Often an array was written as if the version
    were another one.

    Example: librdkafka 2.16.0 asks for all topics with Metadata v12 and leaves 3 bytes after the body.

    What to do: compare the fields written with the fields of that version (`kdissect schema NAME VERSION`).
    """

    code = "FRM006"
    name = "trailing-bytes"
    cites = (
        "spec/000 Common Request and Response Structure",
        "org.apache.kafka.message.MessageDataGenerator#generateClassReader",
    )
    kinds = frozenset({FaultKind.LEFT_OVER})

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Yield bytes after the body."""
        end = len(body.data)
        seen = f"{plural(end - body.end, 'byte')} left over"
        yield Violation(
            f"{body.message.name} v{body.version} to end with its frame", seen,
            start=body.end, end=end, side=body.side,
        )  # fmt: skip
