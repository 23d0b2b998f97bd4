"""The last exchanges of recently active connections, for late facts.

A connection that is silent while thousands of other ones are active stores none: with a hundred thousand open
connections these would be most of the memory.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Exchanges stored whole for a connection, because facts come with its next ones.
RECENT = 4
# Maximum number of connections with stored exchanges, the most recently active ones, and at least half of
# them in any case.
CONNECTIONS_KEPT = 2048
# The same for a judge without rules about facts, which needs no exchange of a late fact.
CONNECTIONS_KEPT_WITHOUT_FACTS = 256


class Connected(Protocol):
    """A view of a connection."""

    info: ConnectionInfo


View = TypeVar("View", bound=Connected)


class Away:
    """Replaces a view that is stored elsewhere while its connection is silent."""

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

    A turn ends when half as many connections spoke in it as are stored at most. Counting silence by turns
    needs no order of all connections, so that the native engine (native/src/judging) can count them, too.
    `rest` receives a view whose exchanges are dropped. `lent(views, turn)` returns the last active turns of
    native-owned connections, -1 for other ones. Only connections with a turn from `turn` on stay. Without
    `are_read` no rule reads the exchanges of late facts, and few connections have any.
    """

    __slots__ = ("_are_read", "_kept", "_lent", "_spoke", "_turn", "rest")

    def __init__(
        self,
        rest: Callable[[View], None],
        lent: Callable[[list[View], int], list[int]] | None = None,
        are_read: bool = True,
    ) -> None:
        self.rest = rest
        self._lent = lent
        self._are_read = are_read
        self._kept: dict[str, _Held[View]] = {}
        self._turn = self._spoke = 0

    def append(self, view: View, exchange: Exchange) -> None:
        """Store an exchange. If it begins a turn, drop the exchanges of silent connections."""
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
        most = CONNECTIONS_KEPT if self._are_read else CONNECTIONS_KEPT_WITHOUT_FACTS
        return self._turn, self._spoke, most // 2

    def go_on(self, turn: int, spoke: int, speaks: _Held[View] | None = None) -> None:
        """Note that turns went on until here, with one that `speaks` in the last one."""
        is_over = turn != self._turn
        self._turn, self._spoke = turn, spoke
        if speaks is not None:
            speaks.turn = turn
        if is_over:
            self._let_go(turn - 1)

    def _let_go(self, first: int) -> None:
        """Keep connections with activity from a turn on."""
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
        """Return the last active turn of a connection with stored exchanges; -1 for another one."""
        held = self._kept.get(connection)
        return -1 if held is None else held.turn

    def get(self, connection: str, ordinal: int) -> Exchange | None:
        """Return the last stored exchange with this number, or None."""
        held = self._kept.get(connection)
        exchanges = () if held is None else held.exchanges
        return next((e for e in reversed(exchanges) if e.ordinal == ordinal), None)

    def set_aside(self, connection: str) -> list[Exchange] | None:
        """Return the stored exchanges of a connection, whose place in the order of activity stays; None
        without any.

        `rest` receives an `Away` when it is dropped.
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
        """Forget a connection that is over."""
        self._kept.pop(connection, None)


# Of all connections together. A connection that fetches ends with a response of some 200 KB, which would stay
# while it is open: thousands of them must not fill the memory. Late facts come with the next exchanges of
# their connection, so that ten responses are enough. Long-lived ones leave holes in the heap when they are
# freed, which take the same space again.
MOST_BYTES = 2 << 20


class LargeExchanges:
    """One exchange a connection, by its id, evicted in the order of storing."""

    __slots__ = ("_bytes", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Exchange, int]] = {}
        self._bytes = 0

    def put(self, exchange: Exchange, size: int) -> None:
        """Store the exchange, of `size` bytes, in place of its connection's previous one."""
        connection = exchange.connection.id
        self.forget(connection)
        self._kept[connection] = exchange, size
        self._bytes += size
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            self.forget(next(iter(self._kept)))

    def get(self, connection: str, ordinal: int) -> Exchange | None:
        """Return the exchange with this number, if it is the stored one."""
        exchange, _ = self._kept.get(connection, (None, 0))
        return exchange if exchange is not None and exchange.ordinal == ordinal else None

    def forget(self, connection: str) -> None:
        """Forget a connection that is over."""
        _, size = self._kept.pop(connection, (None, 0))
        self._bytes -= size
