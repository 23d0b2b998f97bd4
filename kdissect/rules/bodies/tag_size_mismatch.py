"""BDY006: A tagged field must take exactly the bytes its size says."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.bodies.body_too_short import misfit
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.body_view import Body


class TagSizeMismatch(MisfitRule):
    """A tagged field must take exactly the bytes its size says.

    The size lets readers skip tags they do not know; one that is wrong moves everything behind it.

    Example: a tagged int32 with size 5.

    What to do: compute the size from the encoded field.
    """

    code = "BDY006"
    name = "tag-size-mismatch"
    cites = ("KIP-482", "org.apache.kafka.message.MessageDataGenerator")
    kinds = frozenset({FaultKind.TAG_SIZE})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The tag."""
        yield misfit(body, error, "the size of the field")
