"""All histories together, fed with the analyzer's events."""

from collections.abc import Callable, Collection

from kdissect.history.broker_epochs import BrokerEpochs
from kdissect.history.classic_groups import ClassicGroups
from kdissect.history.fact import Fact
from kdissect.history.fetch_sessions import FetchSessions
from kdissect.history.leader_epochs import LeaderEpochs
from kdissect.history.machine import Choosy, Machine
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
# Pairs of API and version whose machines are known; Kafka has 368, hostile requests can name 2^32.
KINDS_KEPT = 4096
_Watchers = tuple[tuple[Machine, ...], tuple[Callable[[Turn], list[Fact]], ...]]
"""Machines, and the `feed`s of those that can learn anything."""


class History:
    """Feed it every event with `add`, then `finish`; each gives the facts that it completes.

    Machines of one connection get its exchanges in the order of their requests, the others as they complete
    (`stream_order`). `only` names the machines that are fed, by their attributes; None: all. Without
    `increments` there is no fact for each incremental fetch. Raises nothing; the state between calls is plain
    and picklable.
    """

    def __init__(self, only: Collection[str] | None = None, increments: bool = True) -> None:
        self.versions = NegotiatedVersions()
        self.sasl = SaslHistory()
        self.fetch_sessions = FetchSessions(increments)
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
        self._watchers: dict[tuple[int, int], tuple[_Watchers, _Watchers]] = {}
        self._orders: dict[str, StreamOrder] = {}
        self._holed: set[str] = set()
        """Capture sets of which bytes were lost."""
        self._missed: set[tuple[Machine, str, str]] = set()
        """Machines that could not read a body, with capture set and client: what it told them is missing."""

    def _chosen(self, names: tuple[str, ...], only: Collection[str] | None) -> tuple[Machine, ...]:
        return tuple(getattr(self, name) for name in names if only is None or name in only)

    def _watching(self, key: int, version: int) -> tuple[_Watchers, _Watchers]:
        """The machines that watch an API, by their order."""
        found = self._watchers.get((key, version))
        if found is None:
            if len(self._watchers) >= KINDS_KEPT:
                self._watchers.clear()
            found = self._watchers[key, version] = (
                _watchers(self._as_completed, key, version), _watchers(self._in_stream_order, key, version)
            )  # fmt: skip
        return found

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
        # Hot, once an exchange: what nearly always is so is asked here, without a call.
        turn = self._turn(exchange)
        as_completed, in_stream_order = self._watching(turn.key, turn.version)
        facts: list[Fact] = []
        is_quick = turn.is_read and not self._missed
        if not is_quick:
            facts += self._feed(as_completed, turn)
        elif as_completed[1]:
            for feed in as_completed[1]:
                facts += feed(turn)
        connection = exchange.connection.id
        order = self._orders.get(connection)
        if order is None:
            order = self._orders[connection] = StreamOrder()
        due = order.add(exchange)
        if len(due) == 1 and due[0] is exchange:  # nearly always
            if is_quick:
                for feed in in_stream_order[1]:
                    facts += feed(turn)
            else:
                facts += self._feed(in_stream_order, turn)
        else:
            for other in due:
                facts += self._feed_late(turn if other is exchange else self._turn(other))
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
        return due, [fact for exchange in due for fact in self._feed_late(self._turn(exchange))]

    def _feed_late(self, turn: Turn) -> list[Fact]:
        """Feed an exchange that was held back, or one that others waited for."""
        return self._feed(self._watching(turn.key, turn.version)[1], turn)

    def _feed(self, watchers: _Watchers, turn: Turn) -> list[Fact]:
        facts: list[Fact] = []
        machines, feeds = watchers
        if turn.is_read and not self._missed:  # nearly always
            for feed in feeds:
                facts += feed(turn)
            return facts
        others_whole = turn.others_whole
        for machine in machines:
            place = machine, turn.info.capture_set, str(turn.info.client.host)
            if machine.api_keys is not None:
                turn.others_whole = others_whole and place not in self._missed
            facts += machine.feed(turn)
            if turn.is_misread and self._counts_missed(machine):
                self._missed.add(place)
        turn.others_whole = others_whole
        return facts

    def _counts_missed(self, machine: Machine) -> bool:
        """Whether what a machine cannot read is noted here; producers count on their own, by connection."""
        return (
            machine.api_keys is not None and machine is not self.producers and len(self._missed) < MISSED_KEPT
        )


def _watchers(machines: tuple[Machine, ...], key: int, version: int) -> _Watchers:
    found = tuple(m for m in machines if m.api_keys is None or key in m.api_keys)
    feeds = tuple(m.feed for m in found if not isinstance(m, Choosy) or m.concerns(key, version))
    return found, feeds
