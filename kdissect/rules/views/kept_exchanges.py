"""The last exchanges of connections, for facts about one that come late: of those that spoke last only.

A connection that is silent while thousands of others speak keeps none: with a hundred thousand open ones that
would be the most of what is held.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Exchanges kept whole of a connection: facts come with its next ones.
RECENT = 4
# Connections of which they are kept: those that spoke last.
CONNECTIONS_KEPT = 2048


class Connected(Protocol):
    """A view of a connection."""

    info: ConnectionInfo


View = TypeVar("View", bound=Connected)


class Away:
    """Stands for a view that is kept elsewhere for as long as its connection is silent."""

    __slots__ = ("connection",)

    def __init__(self, connection: str) -> None:
        self.connection = connection


class RecentExchanges(Generic[View]):
    """A few exchanges of each connection, by its view; `rest` is told of a view whose own are let go.

    `catch_up` is called before one is let go, which must be the one silent for longest: it adds what was not
    added yet.
    """

    __slots__ = ("_catch_up", "_kept", "_rest")

    def __init__(self, rest: Callable[[View], None], catch_up: Callable[[], None] | None = None) -> None:
        self._rest = rest
        self._catch_up = catch_up
        self._kept: OrderedDict[str, tuple[View, list[Exchange]]] = OrderedDict()

    def append(self, view: View, exchange: Exchange) -> None:
        """Keep an exchange; those of the connection silent for longest are let go."""
        # Hot, once an exchange.
        kept, connection = self._kept, view.info.id
        held = kept.get(connection)
        if held is None:
            if len(kept) >= CONNECTIONS_KEPT:
                if self._catch_up is not None:
                    self._catch_up()
                self._rest(kept.popitem(last=False)[1][0])
            kept[connection] = view, [exchange]
            return
        kept.move_to_end(connection)
        exchanges = held[1]
        exchanges.append(exchange)
        if len(exchanges) > RECENT:
            del exchanges[0]

    def extend(self, connection: str, exchanges: list[Exchange]) -> None:
        """Keep further exchanges of a connection of which some are kept."""
        self._kept.move_to_end(connection)
        kept = self._kept[connection][1]
        kept += exchanges
        del kept[:-RECENT]

    def holds(self, connection: str) -> bool:
        """Whether some of a connection are kept."""
        return connection in self._kept

    def get(self, connection: str, ordinal: int) -> Exchange | None:
        """The exchange with this number, if it is one of those that are kept; the last of them."""
        _, exchanges = self._kept.get(connection, (None, ()))
        return next((e for e in reversed(exchanges) if e.ordinal == ordinal), None)

    def set_aside(self, connection: str) -> list[Exchange] | None:
        """Give what is kept of a connection, whose place among those that spoke stays; None if nothing is.

        `rest` is told of an `Away` when it is let go.
        """
        held = self._kept.get(connection)
        if held is None:
            return None
        self._kept[connection] = Away(connection), []  # type: ignore[assignment]
        return held[1]

    def take_up(self, view: View, exchanges: list[Exchange]) -> None:
        """Keep in its place what was set aside."""
        self._kept[view.info.id] = view, exchanges

    def forget(self, connection: str) -> None:
        """The connection is over."""
        self._kept.pop(connection, None)


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
