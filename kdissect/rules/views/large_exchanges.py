"""Exchanges with many bytes that facts which come late may be about: the last one of each connection, in a
bounded number of bytes for all connections together.
"""

from __future__ import annotations

from kdissect.session.exchange import Exchange

# Of all connections together. A connection that fetches ends with an answer of some 200 KB, which would be
# kept for as long as it is open: thousands of them must not fill the memory. Facts that come late come with
# the next exchanges of their connection, so that ten answers are enough; what is kept for long leaves holes
# in the heap when it goes, which take as much again.
MOST_BYTES = 2 << 20


class LargeExchanges:
    """One exchange a connection, by its id; those put longest ago go first."""

    __slots__ = ("_bytes", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Exchange, int]] = {}
        self._bytes = 0

    def put(self, exchange: Exchange, size: int) -> None:
        """Keep the exchange, of `size` bytes, instead of the one before of its connection."""
        connection = exchange.connection.id
        self.forget(connection)
        self._kept[connection] = exchange, size
        self._bytes += size
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            self.forget(next(iter(self._kept)))

    def get(self, connection: str, ordinal: int) -> Exchange | None:
        """The exchange with this number, if it is the one that is kept."""
        exchange, _ = self._kept.get(connection, (None, 0))
        return exchange if exchange is not None and exchange.ordinal == ordinal else None

    def forget(self, connection: str) -> None:
        """The connection is over."""
        _, size = self._kept.pop(connection, (None, 0))
        self._bytes -= size
