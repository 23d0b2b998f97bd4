"""All histories together, fed with the analyzer's events."""

from collections.abc import Collection

from kdissect.history.broker_epochs import BrokerEpochs
from kdissect.history.classic_groups import ClassicGroups
from kdissect.history.fact import Fact
from kdissect.history.fetch_sessions import FetchSessions
from kdissect.history.leader_epochs import LeaderEpochs
from kdissect.history.machine import Machine
from kdissect.history.modern_groups import ModernGroups
from kdissect.history.negotiated_versions import NegotiatedVersions
from kdissect.history.producers import Producers
from kdissect.history.quorum_epochs import QuorumEpochs
from kdissect.history.sasl import SaslHistory
from kdissect.history.share_sessions import ShareSessions
from kdissect.history.snapshot_fetches import SnapshotFetches
from kdissect.history.stream_order import StreamOrder
from kdissect.history.telemetry import Telemetry
from kdissect.history.throttling import Throttling
from kdissect.history.transactions import Transactions
from kdissect.history.turn import Turn
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange

_IN_STREAM_ORDER = (
    "versions", "sasl", "fetch_sessions", "share_sessions", "throttling", "producers", "quorum_epochs",
    "snapshot_fetches",
)  # fmt: skip
_AS_COMPLETED = (
    "transactions", "classic_groups", "modern_groups", "leader_epochs", "broker_epochs", "telemetry",
)  # fmt: skip
# Clients that sent or got what nobody can read, each in 100 bytes. More of them, and later ones are believed.
MISSED_KEPT = 50_000


class History:
    """Feed it every event with `add`, then `finish`; each gives the facts that it completes.

    Machines of one connection get its exchanges in the order of their requests, the others as they complete
    (`stream_order`). `only` names the machines that are fed, by their attributes; None: all. Raises nothing;
    the state between calls is plain and picklable.
    """

    def __init__(self, only: Collection[str] | None = None) -> None:
        self.versions = NegotiatedVersions()
        self.sasl = SaslHistory()
        self.fetch_sessions = FetchSessions()
        self.share_sessions = ShareSessions()
        self.throttling = Throttling()
        self.producers = Producers()
        self.quorum_epochs = QuorumEpochs()
        self.snapshot_fetches = SnapshotFetches()
        self.transactions = Transactions()
        self.classic_groups = ClassicGroups()
        self.modern_groups = ModernGroups()
        self.leader_epochs = LeaderEpochs()
        self.broker_epochs = BrokerEpochs()
        self.telemetry = Telemetry()
        self._in_stream_order = self._chosen(_IN_STREAM_ORDER, only)
        self._as_completed = self._chosen(_AS_COMPLETED, only)
        self._orders: dict[str, StreamOrder] = {}
        self._holed: set[str] = set()
        """Capture sets of which bytes were lost."""
        self._missed: set[tuple[Machine, str, str]] = set()
        """Machines that could not read a body, with capture set and client: what it told them is missing."""

    def _chosen(self, names: tuple[str, ...], only: Collection[str] | None) -> tuple[Machine, ...]:
        return tuple(getattr(self, name) for name in names if only is None or name in only)

    def add(self, event: Event) -> list[Fact]:
        """Take the analyzer's next event."""
        if isinstance(event, Exchange):
            turn = self._turn(event)
            facts = self._feed(self._as_completed, turn)
            order = self._orders.get(event.connection.id)
            if order is None:
                order = self._orders[event.connection.id] = StreamOrder()
            for due in order.add(event):
                facts += self._feed(self._in_stream_order, turn if due is event else self._turn(due))
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

    def _flush(self, order: StreamOrder) -> list[Fact]:
        return [fact for due in order.flush() for fact in self._feed(self._in_stream_order, self._turn(due))]

    def _feed(self, machines: tuple[Machine, ...], turn: Turn) -> list[Fact]:
        facts: list[Fact] = []
        others_whole = turn.others_whole
        for machine in machines:
            keys = machine.api_keys
            if keys is None:
                facts += machine.feed(turn)
            elif turn.key in keys:
                place = machine, turn.info.capture_set, str(turn.info.client.host)
                turn.others_whole = others_whole and place not in self._missed
                facts += machine.feed(turn)
                # producers count on their own what they miss, connection by connection
                if turn.is_misread and machine is not self.producers and len(self._missed) < MISSED_KEPT:
                    self._missed.add(place)
        turn.others_whole = others_whole
        return facts
