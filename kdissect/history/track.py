"""What histories keep of one connection to see quickly that an exchange is as those before."""

from collections.abc import Set as AbstractSet

from kdissect.history.api_keys import API_VERSIONS
from kdissect.history.connections.negotiated_versions import NegotiatedVersions, Negotiation
from kdissect.history.stream_order import StreamOrder
from kdissect.session.exchange import Exchange

Kind = tuple[int | None, int | None]
"""API key and version."""
_NOTHING: frozenset[Kind] = frozenset()


class Track(StreamOrder):
    """One connection: the order of its exchanges, and the kinds of them that are settled.

    Of a settled kind the machines that watch every exchange learn nothing: its version was used as offered,
    and the connection is neither one with SASL nor throttled.
    """

    __slots__ = ("negotiation", "settled")

    def __init__(self) -> None:
        super().__init__()
        self.negotiation: Negotiation | None = None
        self.settled: AbstractSet[Kind] | AbstractSet[tuple[int, int]] = _NOTHING

    def is_offered_by(self, exchange: Exchange, versions: NegotiatedVersions) -> bool:
        """Whether the versions known of a quiet connection come from an exchange."""
        if exchange.api_key != API_VERSIONS or self.settled is _NOTHING:
            return False
        known = versions.connections.peek(exchange.connection.id)
        by = None if known is None else known.offered_by
        return by is not None and by.ordinal == exchange.ordinal

    def unsettle(self) -> None:
        """Every exchange is shown to all machines."""
        self.settled = _NOTHING
