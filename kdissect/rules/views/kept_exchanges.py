"""The last exchanges of connections, for facts about one that come late: of those that spoke last only.

A connection that is silent while thousands of others speak keeps none: with a hundred thousand open ones that
would be the most of what is held.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Exchanges kept whole of a connection: facts come with its next ones.
RECENT = 4
# Connections of which they are kept at most, of those that spoke last; until half as many others spoke in any
# case.
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


class _Held(Generic[View]):
    """A view, its last exchanges, the last turn in which it spoke."""

    __slots__ = ("exchanges", "turn", "view")

    def __init__(self, view: View, exchanges: list[Exchange], turn: int) -> None:
        self.view = view
        self.exchanges = exchanges
        self.turn = turn


class RecentExchanges(Generic[View]):
    """A few exchanges of each connection that spoke in this turn or the one before, by its view.

    A turn ends when half of `CONNECTIONS_KEPT` spoke in it. To tell who is silent by turns needs no order of
    all connections, so that the compiled part (native/src/judging) can count them too. `rest` is told of a
    view whose exchanges are let go. `lent(views, turn)` is asked for the last turns in which those spoke that
    are lent, -1 of all others; none but those from `turn` on are kept.
    """

    __slots__ = ("_kept", "_lent", "_spoke", "_turn", "rest")

    def __init__(
        self, rest: Callable[[View], None], lent: Callable[[list[View], int], list[int]] | None = None
    ) -> None:
        self.rest = rest
        self._lent = lent
        self._kept: dict[str, _Held[View]] = {}
        self._turn = self._spoke = 0

    def append(self, view: View, exchange: Exchange) -> None:
        """Keep an exchange; where it begins a turn, those of connections that are silent are let go."""
        # Hot, once an exchange.
        held = self._kept.get(view.info.id)
        if held is None:
            held = self._kept[view.info.id] = _Held(view, [], -1)
        if held.turn != self._turn:
            turn, spoke, most = self.turns()
            is_over = spoke >= most
            self.go_on(turn + is_over, 1 if is_over else spoke + 1, held)
        exchanges = held.exchanges
        exchanges.append(exchange)
        if len(exchanges) > RECENT:
            del exchanges[0]

    def turns(self) -> tuple[int, int, int]:
        """Return the number of this turn, how many connections spoke in it so far, how many may."""
        return self._turn, self._spoke, CONNECTIONS_KEPT // 2

    def go_on(self, turn: int, spoke: int, speaks: _Held[View] | None = None) -> None:
        """Turns went on until here, with one that `speaks` in the last one."""
        is_over = turn != self._turn
        self._turn, self._spoke = turn, spoke
        if speaks is not None:
            speaks.turn = turn
        if is_over:
            self._let_go(turn - 1)

    def _let_go(self, first: int) -> None:
        """Keep those that spoke from a turn on."""
        old = [(connection, held) for connection, held in self._kept.items() if held.turn < first]
        if self._lent is not None:
            last = self._lent([held.view for _, held in old], first)
            for (_, held), turn in zip(old, last, strict=False):
                held.turn = max(held.turn, turn)
        for connection, held in old:
            if held.turn < first:
                del self._kept[connection]
                self.rest(held.view)

    def extend(self, view: View, exchanges: list[Exchange], turn: int, is_cut: bool) -> None:
        """Keep further exchanges of a connection, which spoke in this turn last; `is_cut` where those before
        are to be let go.
        """
        if is_cut:
            self._kept.pop(view.info.id, None)
        if exchanges:
            held = self._kept.setdefault(view.info.id, _Held(view, [], turn))
            held.exchanges += exchanges
            del held.exchanges[:-RECENT]
            held.turn = turn

    def turn_of(self, connection: str) -> int:
        """Return the last turn in which a connection spoke of which some are kept; -1 of others."""
        held = self._kept.get(connection)
        return -1 if held is None else held.turn

    def get(self, connection: str, ordinal: int) -> Exchange | None:
        """Return the exchange with this number, if it is one of those that are kept; the last of them."""
        held = self._kept.get(connection)
        exchanges = () if held is None else held.exchanges
        return next((e for e in reversed(exchanges) if e.ordinal == ordinal), None)

    def set_aside(self, connection: str) -> list[Exchange] | None:
        """Give what is kept of a connection, whose place among those that spoke stays; None if nothing is.

        `rest` is told of an `Away` when it is let go.
        """
        held = self._kept.get(connection)
        if held is None:
            return None
        exchanges = held.exchanges
        held.view, held.exchanges = Away(connection), []  # type: ignore[assignment]
        return exchanges

    def take_up(self, view: View, exchanges: list[Exchange]) -> None:
        """Keep in its place what was set aside."""
        held = self._kept[view.info.id]
        held.view, held.exchanges = view, exchanges

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
        """Return the exchange with this number, if it is the one that is kept."""
        exchange, _ = self._kept.get(connection, (None, 0))
        return exchange if exchange is not None and exchange.ordinal == ordinal else None

    def forget(self, connection: str) -> None:
        """The connection is over."""
        _, size = self._kept.pop(connection, (None, 0))
        self._bytes -= size
