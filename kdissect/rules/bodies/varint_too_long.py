"""BDY005: an unsigned varint must fit 32 bits in at most 5 bytes."""

from collections.abc import Iterator

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.bodies.body_too_short import misfit
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.body_view import Body


class VarintTooLong(MisfitRule):
    """An unsigned varint must fit 32 bits in at most 5 bytes.

    Example: `ff ff ff ff ff 01` where a compact length belongs.

    What to do: encode lengths and tags as unsigned 32-bit numbers, seven bits a byte, lowest first.
    """

    code = "BDY005"
    name = "varint-too-long"
    cites = ("KIP-482", "org.apache.kafka.common.utils.internals.ByteUtils")
    kinds = frozenset({FaultKind.VARINT})

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """The varint."""
        yield misfit(body, error, "a varint of at most 32 bits")
