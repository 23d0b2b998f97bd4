"""What histories keep of one connection to see quickly that an exchange is as those before."""

from collections.abc import Set as AbstractSet

from kdissect.history.negotiated_versions import Negotiation
from kdissect.history.stream_order import StreamOrder

Kind = tuple[int | None, int | None]
"""API key and version."""
_NOTHING: frozenset[Kind] = frozenset()


class Track:
    """One connection: the order of its exchanges, and the kinds of them that are settled.

    Of a settled kind the machines that watch every exchange learn nothing: its version was used as offered,
    and the connection is neither one with SASL nor throttled.
    """

    __slots__ = ("negotiation", "order", "settled")

    def __init__(self) -> None:
        self.order = StreamOrder()
        self.negotiation: Negotiation | None = None
        self.settled: AbstractSet[Kind] | AbstractSet[tuple[int, int]] = _NOTHING

    def unsettle(self) -> None:
        """Every exchange is shown to all machines."""
        self.settled = _NOTHING
