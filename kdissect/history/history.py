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
    (`stream_order`). Raises nothing; the state between calls is plain and picklable.
    """

    def __init__(self) -> None:
        self.versions = NegotiatedVersions()
        self.sasl = SaslHistory()
        self.fetch_sessions = FetchSessions()
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
        if isinstance(event, Exchange):
            turn = self._turn(event)
            facts: list[Fact] = []
            as_completed, _ = self._by_key.get(turn.key, self._others)
            for feed in as_completed:
                facts += feed(turn)
            order = self._orders.get(event.connection.id)
            if order is None:
                order = self._orders[event.connection.id] = StreamOrder()
            for due in order.add(event):
                facts += self._in_turn(turn if due is event else self._turn(due))
            return facts
        if isinstance(event, ConnectionClosed):
            order = self._orders.pop(event.connection.id, None)
            return [] if order is None else self._flush(order)
        return []

    def finish(self) -> list[Fact]:
        """The input is over: what was held back goes by."""
        facts = [fact for order in self._orders.values() for fact in self._flush(order)]
        self._orders.clear()
        return facts

    def _turn(self, exchange: Exchange) -> Turn:
        capture_set = exchange.connection.capture_set
        turn = Turn(exchange, capture_set not in self._holed)
        if turn.losses:
            self._holed.add(capture_set)
        return turn

    def _in_turn(self, turn: Turn) -> list[Fact]:
        facts: list[Fact] = []
        _, in_stream_order = self._by_key.get(turn.key, self._others)
        for feed in in_stream_order:
            facts += feed(turn)
        return facts

    def _flush(self, order: StreamOrder) -> list[Fact]:
        return [fact for due in order.flush() for fact in self._in_turn(self._turn(due))]


def _feeds(machines: tuple[Machine, ...], api_key: int | None) -> _Feeds:
    return tuple(m.feed for m in machines if m.api_keys is None or api_key in m.api_keys)
