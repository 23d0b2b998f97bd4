"""All histories together, fed with the analyzer's events."""

from collections.abc import Callable

from kdissect.history.broker_epochs import BrokerEpochs
from kdissect.history.classic_groups import ClassicGroups
from kdissect.history.fact import Fact
from kdissect.history.fetch_sessions import FetchSessions
from kdissect.history.leader_epochs import LeaderEpochs
from kdissect.history.machine import Machine
from kdissect.history.modern_groups import ModernGroups
from kdissect.history.negotiated_versions import NegotiatedVersions
from kdissect.history.producers import Producers
from kdissect.history.sasl import SaslHistory
from kdissect.history.share_sessions import ShareSessions
from kdissect.history.stream_order import StreamOrder
from kdissect.history.telemetry import Telemetry
from kdissect.history.throttling import Throttling
from kdissect.history.transactions import Transactions
from kdissect.history.turn import Turn
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange

_Feeds = tuple[Callable[[Turn], list[Fact]], ...]


class History:
    """Feed it every event with `add`, then `finish`; each gives the facts that it completes.

    Machines of one connection get its exchanges in the order of their requests, the others as they complete
    (`stream_order`). Without `increments` there is no fact for each incremental fetch. Raises
    nothing; the state between calls is plain and picklable.
    """

    def __init__(self, increments: bool = True) -> None:
        self.versions = NegotiatedVersions()
        self.sasl = SaslHistory()
        self.fetch_sessions = FetchSessions(increments)
        self.share_sessions = ShareSessions()
        self.throttling = Throttling()
        self.producers = Producers()
        self.transactions = Transactions()
        self.classic_groups = ClassicGroups()
        self.modern_groups = ModernGroups()
        self.leader_epochs = LeaderEpochs()
        self.broker_epochs = BrokerEpochs()
        self.telemetry = Telemetry()
        self._in_stream_order: tuple[Machine, ...] = (
            self.versions, self.sasl, self.fetch_sessions, self.share_sessions, self.throttling,
            self.producers,
        )  # fmt: skip
        self._as_completed: tuple[Machine, ...] = (
            self.transactions, self.classic_groups, self.modern_groups, self.leader_epochs,
            self.broker_epochs, self.telemetry,
        )  # fmt: skip
        machines = self._as_completed + self._in_stream_order
        keys = {key for machine in machines for key in machine.api_keys or ()}
        self._by_key = {key: self._watching(key) for key in keys}
        self._others = self._watching(None)
        self._orders: dict[str, StreamOrder] = {}
        self._holed: set[str] = set()
        """Capture sets of which bytes were lost."""

    def _watching(self, api_key: int | None) -> tuple[_Feeds, _Feeds]:
        """The machines that watch an API, by their order; None: those that watch all."""
        return _feeds(self._as_completed, api_key), _feeds(self._in_stream_order, api_key)

    def add(self, event: Event) -> list[Fact]:
        """Take the analyzer's next event."""
        return self.take(event)[1]

    def take(self, event: Event) -> tuple[list[Exchange], list[Fact]]:
        """Take the analyzer's next event; gives also the exchanges whose turn it is by their requests."""
        if isinstance(event, Exchange):
            return self._take(event)
        if isinstance(event, ConnectionClosed):
            order = self._orders.pop(event.connection.id, None)
            return ([], []) if order is None else self._flush(order)
        return [], []

    def _take(self, exchange: Exchange) -> tuple[list[Exchange], list[Fact]]:
        turn = self._turn(exchange)
        facts: list[Fact] = []
        as_completed, in_stream_order = self._by_key.get(turn.key, self._others)
        for feed in as_completed:
            facts += feed(turn)
        connection = exchange.connection.id
        order = self._orders.get(connection)
        if order is None:
            order = self._orders[connection] = StreamOrder()
        due = order.add(exchange)
        if len(due) == 1 and due[0] is exchange:  # nearly always
            for feed in in_stream_order:
                facts += feed(turn)
        else:
            for other in due:
                facts += self._late(other)
        return due, facts

    def finish(self) -> list[Fact]:
        """The input is over: what was held back goes by."""
        return self.take_rest()[1]

    def take_rest(self) -> tuple[list[Exchange], list[Fact]]:
        """`finish` that gives also the exchanges that were held back, connection by connection."""
        flushed = [self._flush(order) for order in self._orders.values()]
        self._orders.clear()
        due = [exchange for exchanges, _ in flushed for exchange in exchanges]
        return due, [fact for _, facts in flushed for fact in facts]

    def _turn(self, exchange: Exchange) -> Turn:
        capture_set = exchange.connection.capture_set
        turn = Turn(exchange, not self._holed or capture_set not in self._holed)
        if turn.losses:
            self._holed.add(capture_set)
        return turn

    def _flush(self, order: StreamOrder) -> tuple[list[Exchange], list[Fact]]:
        due = order.flush()
        return due, [fact for exchange in due for fact in self._late(exchange)]

    def _late(self, exchange: Exchange) -> list[Fact]:
        """An exchange that was held back; with it may come a thousand others, so its values are not kept."""
        turn = self._turn(exchange)
        exchange.forget_bodies()
        facts: list[Fact] = []
        _, in_stream_order = self._by_key.get(turn.key, self._others)
        for feed in in_stream_order:
            facts += feed(turn)
        return facts


def _feeds(machines: tuple[Machine, ...], api_key: int | None) -> _Feeds:
    return tuple(m.feed for m in machines if m.api_keys is None or api_key in m.api_keys)
