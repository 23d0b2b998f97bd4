"""All histories together, fed with the analyzer's events."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from kdissect.history.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kdissect.history.connections.connection_problems import ConnectionProblem, ConnectionProblems
from kdissect.history.connections.negotiated_versions import NegotiatedVersions, Negotiation, Range
from kdissect.history.connections.refused_requests import RefusedRequests
from kdissect.history.connections.sasl_login import SaslHistory
from kdissect.history.connections.throttling import Throttling, has_throttle
from kdissect.history.epochs.broker_epochs import BrokerEpochs
from kdissect.history.epochs.leader_epochs import LeaderEpochs
from kdissect.history.epochs.own_counters import OwnCounters
from kdissect.history.epochs.quorum_choices import QuorumChoices
from kdissect.history.epochs.quorum_epochs import QuorumEpochs
from kdissect.history.exchange_view import ExchangeView, losses_of
from kdissect.history.fact import Evidence, Fact, is_answered_first
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.modern_groups import ModernGroups
from kdissect.history.machine import PARTS, Choosy, Machine, Parts, Passing
from kdissect.history.producing.producers import Producers
from kdissect.history.producing.stored_batches import StoredBatches
from kdissect.history.producing.transactions import Transactions
from kdissect.history.row_asks import RowAsks, row_asks
from kdissect.history.sessions.fetch_sessions import FetchSessions
from kdissect.history.sessions.share_sessions import ShareSessions
from kdissect.history.sessions.snapshot_fetches import SnapshotFetches
from kdissect.history.sessions.telemetry_pushes import Telemetry
from kdissect.history.stream_order import StreamOrder
from kdissect.history.topics.topic_ids import TopicIds
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind

_IN_STREAM_ORDER = (
    "versions", "sasl", "fetch_sessions", "share_sessions", "throttling", "producers", "quorum_epochs",
    "own_counters", "snapshot_fetches",
)  # fmt: skip
_AS_COMPLETED = (
    "transactions", "classic_groups", "modern_groups", "leader_epochs", "broker_epochs", "telemetry",
    "connection_problems", "refused_requests", "stored_batches", "quorum_choices", "topic_ids",
)  # fmt: skip
# Clients that sent or received unreadable bytes, each in 100 bytes. Beyond this number, later clients are
# believed.
MISSED_KEPT = 50_000
# Pairs of API and version whose machines are known; Kafka has 368, hostile requests can name 2^32.
KINDS_KEPT = 4096
_NEVER_SETTLED = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})
_NO_BODIES = (None, None)
Kind = tuple[int | None, int | None]
"""API key and version."""


class Track(StreamOrder):
    """One connection: the order of its exchanges, and what it negotiated.

    It is quiet if neither SASL nor throttling is known of it. The machines that watch every exchange then
    learn nothing from a request in a version that the broker offered, unless it negotiates or logs in.
    """

    __slots__ = ("is_quiet", "negotiation")

    def __init__(self, due: int = 0) -> None:
        super().__init__(due)
        self.negotiation: Negotiation | None = None
        self.is_quiet = False

    def is_settled(self, exchange: Exchange) -> bool:
        """Return whether the machines that watch every exchange learn nothing from one of its API and
        version.
        """
        key, version, known = exchange.api_key, exchange.api_version, self.negotiation
        if known is None or not self.is_quiet or key is None or version is None:
            return False
        return key not in _NEVER_SETTLED and known.allows(key, version)

    def is_offered_by(self, exchange: Exchange, versions: NegotiatedVersions) -> bool:
        """Return whether the versions known of a quiet connection come from an exchange."""
        if exchange.api_key != API_VERSIONS or not self.is_quiet:
            return False
        known = versions.connections.peek(exchange.connection.id)
        by = None if known is None else known.offered_by
        return by is not None and by.ordinal == exchange.ordinal


Feed = Callable[[ExchangeView], list[Fact]]
Passes = Callable[[Exchange, Any], bool]


class Watchers:
    """`machines` watch an API; `feeds` are the feeds of machines that can learn from the version.

    `own` leaves out machines that watch every exchange. It pairs each machine with the function that decides
    whether an exchange passes it, or None.
    """

    __slots__ = ("feeds", "machines", "own")

    def __init__(self, machines: tuple[Machine, ...], key: int, version: int) -> None:
        self.machines = tuple(m for m in machines if m.api_keys is None or key in m.api_keys)
        learning = [m for m in self.machines if not isinstance(m, Choosy) or m.concerns(key, version)]
        self.feeds: tuple[Feed, ...] = tuple(m.feed for m in learning)
        self.own: tuple[tuple[Passes | None, Machine], ...] = tuple(
            (m.passes if isinstance(m, Passing) else None, m) for m in learning if m.api_keys is not None
        )


class KindWatchers:
    """Those of one API and version by their order, and whether its answers have a throttle time.

    `parts` reads the values by which an exchange passes some machines, or is None.
    """

    __slots__ = ("as_completed", "has_throttle", "in_stream_order", "own", "parts")

    def __init__(
        self, as_completed: tuple[Machine, ...], in_stream_order: tuple[Machine, ...], key: int, version: int
    ) -> None:
        self.as_completed = Watchers(as_completed, key, version)
        self.in_stream_order = Watchers(in_stream_order, key, version)
        self.own = self.as_completed.own + self.in_stream_order.own
        self.has_throttle = has_throttle(key, version)
        reads_parts = any(isinstance(machine, Passing) and machine.reads_parts for _, machine in self.own)
        self.parts = PARTS.get(key) if reads_parts else None


class History:
    """Feed it every event with `add`, then call `finish`; each returns the facts that it completes.

    Machines of one connection get its exchanges in the order of their requests, the others as they complete
    (`stream_order`). `only` names the machines that are fed, by their attributes; None: all. Without
    `increments` there is no fact for each fetch that continues a session. Raises nothing. The state between
    calls is plain and picklable.
    """

    def __init__(self, only: Collection[str] | None = None, increments: bool = True) -> None:
        self.versions = NegotiatedVersions()
        self.sasl = SaslHistory()
        self.fetch_sessions = FetchSessions(increments)
        self.share_sessions = ShareSessions(increments)
        self.throttling = Throttling()
        self.producers = Producers()
        self.quorum_epochs = QuorumEpochs()
        self.own_counters = OwnCounters()
        self.snapshot_fetches = SnapshotFetches()
        self.transactions = Transactions()
        self.stored_batches = StoredBatches()
        self.classic_groups = ClassicGroups()
        self.modern_groups = ModernGroups()
        self.leader_epochs = LeaderEpochs()
        self.topic_ids = TopicIds()
        self.broker_epochs = BrokerEpochs()
        self.quorum_choices = QuorumChoices()
        self.telemetry = Telemetry()
        self.connection_problems = ConnectionProblems()
        self.refused_requests = RefusedRequests()
        self._reports_problems = only is None or "connection_problems" in only
        self._counts_refusals = only is None or "refused_requests" in only
        self._in_stream_order = self._chosen(_IN_STREAM_ORDER, only)
        self._as_completed = self._chosen(_AS_COMPLETED, only)
        everything = (*self._in_stream_order, *self._as_completed)
        self._watches_all = any(machine.api_keys is None for machine in everything)
        """Whether a machine watches every exchange."""
        self._watchers: dict[Kind, KindWatchers] = {}
        self._tracks: dict[str, Track] = {}
        self._due: dict[str, int] = {}
        """The next event on connections without a track."""
        self._holed: set[str] = set()
        """Capture sets of which bytes were lost, or whose packets are not in the order of their sending."""
        self._missed: set[tuple[Machine, str, str]] = set()
        """Machines that could not read a body, with capture set and client: its message to them is
        missing, so that their facts about this client are unsure. An exchange that passes a machine makes
        no fact.
        """
        self._ahead: tuple[str, int, list[Fact]] | None = None
        """Connection, ordinal and facts of an exchange that `take_row` took, and that is added next."""

    def _chosen(self, names: tuple[str, ...], only: Collection[str] | None) -> tuple[Machine, ...]:
        return tuple(getattr(self, name) for name in names if only is None or name in only)

    def is_holed(self, capture_set: str) -> bool:
        """Return whether bytes of a capture set are known to be lost, or to be in another order."""
        return capture_set in self._holed

    def due_on(self, connection: str) -> int | None:
        """Return the next ordinal on a connection; None while exchanges are buffered."""
        track = self._tracks.get(connection)
        return self._due.get(connection, 0) if track is None else track.next_alone

    def go_on(self, connection: str, ordinal: int) -> None:
        """Skip exchanges of which no machine learns anything, so that this ordinal is next."""
        track = self._tracks.get(connection)
        if track is None:
            self._due[connection] = ordinal
        else:
            track.go_on(ordinal)

    def has_track(self, connection: str) -> bool:
        """Return whether more is known of a connection than what is due next."""
        return connection in self._tracks

    def set_aside(self, connection: str) -> int:
        """Forget a connection without a track and return its next ordinal."""
        return self._due.pop(connection, 0)

    def _goes_on(self, exchange: Exchange) -> bool:
        """Return whether an exchange is next and no other one is buffered, and skip it then."""
        connection, ordinal = exchange.connection.id, exchange.ordinal
        if self.due_on(connection) != ordinal:
            return False
        self.go_on(connection, ordinal + 1)
        return True

    def _track_of(self, connection: str) -> Track:
        """Return a connection by its id."""
        found = self._tracks.get(connection)
        if found is None:
            found = self._tracks[connection] = Track(self._due.pop(connection, 0))
        return found

    def _watching(self, key: int | None, version: int | None) -> KindWatchers:
        """Return the machines that watch an API in a version."""
        found = self._watchers.get((key, version))
        if found is None:
            if len(self._watchers) >= KINDS_KEPT:
                self._watchers.clear()
            found = self._watchers[key, version] = KindWatchers(
                self._as_completed, self._in_stream_order,
                -1 if key is None else key, -1 if version is None else version,
            )  # fmt: skip
        return found

    def add(self, event: Event, parts: Parts | None = None) -> list[Fact]:
        """Take the analyzer's next event; `parts` are the values that `PARTS` reads of an exchange, if
        known.
        """
        return self.take(event, parts)[1]

    def take(self, event: Event, parts: Parts | None = None) -> tuple[list[Exchange], list[Fact]]:
        """Do the same, and also return the exchanges whose turn it is by their requests."""
        if isinstance(event, Exchange):
            return self.take_exchange(event, parts=parts)
        if isinstance(event, ConnectionClosed) and event.connection.kind is ConnectionKind.KAFKA:
            return self._end(event.connection)
        return [], []

    def _end(self, info: ConnectionInfo) -> tuple[list[Exchange], list[Fact]]:
        """Feed the buffered exchanges of a connection that is over, and forget what concerns it alone."""
        if self._counts_refusals:
            self.refused_requests.end(info)
        if losses_of(info):
            self._holed.add(info.capture_set)
        self._due.pop(info.id, None)
        track = self._tracks.pop(info.id, None)
        due = ([], []) if track is None else self._flush(track)
        self.versions.connections.pop(info.id)
        self.leader_epochs.clusters.pop(info.id)
        self.topic_ids.close(info)
        self.producers.close(info)
        return due

    def close(self, event: ConnectionClosed) -> list[ConnectionProblem]:
        """Return the failed connections that the end of a connection completes."""
        return self.connection_problems.close(event) if self._reports_problems else []

    def take_problems(self) -> list[ConnectionProblem]:
        """Call `finish` for failed connections."""
        return self.connection_problems.finish() if self._reports_problems else []

    def lend(self, info: ConnectionInfo) -> tuple[int, dict[int, Range] | None] | None:
        """Return the next ordinal of a connection, and the version ranges by API key in which machines that
        watch every exchange learn nothing (None: in all versions). None: exchanges are taken one by one.
        """
        if info.id not in (self._tracks if self._watches_all else self._due) or not self.lends(info):
            return None
        due = self.due_on(info.id)
        if due is None:
            return None
        if not self._watches_all:
            return due, None
        track = self._tracks[info.id]
        if track.negotiation is None or not track.is_quiet:
            return None
        return due, track.negotiation.offered

    def lends(self, info: ConnectionInfo) -> bool:
        """Return whether no anomaly of a connection, so far, requires that exchanges are taken one by one."""
        return self.lends_each((info,))[0]

    def lends_each(self, infos: Iterable[ConnectionInfo]) -> list[bool]:
        """Return `lends` for several connections."""
        # Hot, once a block for each of its connections.
        return [not info.anomaly_counts for info in infos]

    def take_back(self, info: ConnectionInfo, due: int) -> None:
        """Continue at this ordinal: earlier exchanges passed while the native engine owned the connection."""
        self.go_on(info.id, due)

    def row_asks(self, key: int, version: int) -> RowAsks | None:
        """Return the row values that machines need of a kind; None if all machines watch it."""
        if self._watches_all and key in _NEVER_SETTLED:
            return None
        watchers = self._watching(key, version)
        has_throttle = self._watches_all and watchers.has_throttle
        return row_asks(key, (machine for _, machine in watchers.own), has_throttle)

    def take_row(self, exchange: Exchange, passes: Callable[[list[Fact], Exchange], bool]) -> bool:
        """Feed the next exchange of a native-owned connection to the machines that watch its API, if it has
        no anomaly. `passes` decides by the facts whether it needs to be added. Return False if it must be
        added: then `take_exchange` returns the facts.
        """
        if exchange.connection.anomaly_counts:
            return False
        facts = self._take_own(exchange, self._watching(exchange.api_key, exchange.api_version))
        if not facts or passes(facts, exchange):
            return True
        self._ahead = exchange.connection.id, exchange.ordinal, facts
        return False

    def offered_first(self, exchange: Exchange) -> Negotiation | None:
        """Return what an exchange negotiated, if its connection began with it and machines learned nothing
        else from it.
        """
        track = self._tracks.get(exchange.connection.id)
        if track is None or not track.is_quiet or track.next_alone != 1 or exchange.ordinal:
            return None
        return self.versions.offered_first(exchange)

    def can_begin(self, info: ConnectionInfo) -> bool:
        """Return whether nothing is known of a connection, and its client, that `begin` does not expect."""
        if not self._watches_all or info.id in self._tracks or info.id in self._due:
            return False
        return self.lends(info) and not (self._counts_refusals and self.refused_requests.counts(info))

    def begin(
        self, info: ConnectionInfo, known: Negotiation, ranges: dict[int, Range], evidence: Evidence
    ) -> Fact:
        """Take the exchange with which a connection begins, if it `can_begin`, and return its fact.

        Its bodies are those of an exchange that was `offered_first`.
        """
        if self._counts_refusals:
            self.refused_requests.begin(info, ranges)
        fact = self.versions.begin(info, known, ranges, evidence)
        track = self._tracks[info.id] = Track()
        track.negotiation, track.is_quiet = self.versions.connections.peek(info.id), True
        return fact

    def take_exchange(
        self, exchange: Exchange, before: Exchange | None = None, parts: Parts | None = None
    ) -> tuple[list[Exchange], list[Fact]]:
        """`take` of an exchange.

        `before` is an earlier exchange of its connection with the same bytes but for the correlation id, or
        None: with it, versions that are offered again produce no fact.
        """
        due, facts = self._take_exchange(exchange, before, parts)
        if exchange.close is not None and self._counts_refusals:
            facts = [*facts, *self.refused_requests.close(self._view(exchange))]
        return due, facts

    def _take_exchange(
        self, exchange: Exchange, before: Exchange | None, parts: Parts | None
    ) -> tuple[list[Exchange], list[Fact]]:
        if is_answered_first(exchange):
            self._holed.add(exchange.connection.capture_set)
        if not self._watches_all and self._goes_on(exchange):
            watchers = self._watching(exchange.api_key, exchange.api_version)
            return [exchange], self._take_own(exchange, watchers, parts)
        track = self._track_of(exchange.connection.id)
        if track.is_settled(exchange) or (before is not None and track.is_offered_by(before, self.versions)):
            facts = self._take_settled(exchange, track)
            if facts is not None:
                return [exchange], facts
        view = self._view(exchange)
        facts = self._feed(self._watching(view.key, view.version).as_completed, view)
        due = track.add(exchange)
        for other in due:
            facts += self._feed_in_order(view if other is exchange else self._view(other), track)
        return due, facts

    def _take_settled(self, exchange: Exchange, track: Track) -> list[Fact] | None:
        """Feed an exchange of a settled kind. Return None without any change if it differs from the
        others.
        """
        # Hot, once an exchange.
        asked, answered = exchange.bodies_cache or _NO_BODIES
        if asked is None or exchange.connection.anomaly_counts:
            return None
        if not asked.fits:
            return None
        kind = exchange.api_key, exchange.api_version
        watchers = self._watchers.get(kind) or self._watching(*kind)
        if answered is not None:
            if not answered.fits or (watchers.has_throttle and answered.value.throttle_time_ms):
                return None
        elif exchange.response is not None:
            return None
        if not track.is_next(exchange):
            return None
        if kind[0] == API_VERSIONS:
            self.versions.offer_again(exchange)
        return self._take_own(exchange, watchers)

    def _take_own(self, exchange: Exchange, watchers: KindWatchers, parts: Parts | None = None) -> list[Fact]:
        """Feed an exchange to the machines that watch its API, except those that it passes."""
        # Hot, once an exchange.
        if self._ahead is not None and self._ahead[:2] == (exchange.connection.id, exchange.ordinal):
            ahead, self._ahead = self._ahead[2], None
            return ahead
        view = self._view(exchange) if exchange.connection.anomaly_counts else None
        if not watchers.own:
            return []
        if parts is None and watchers.parts is not None:
            parts = watchers.parts(exchange)
        facts: list[Fact] = []
        for passes, machine in watchers.own:
            if passes is None or not passes(exchange, parts):
                view = view or self._view(exchange)
                facts += self._feed_one(machine, view)
        return facts

    def finish(self) -> list[Fact]:
        """End the input: feed the buffered exchanges."""
        return self.take_rest()[1]

    def take_rest(self) -> tuple[list[Exchange], list[Fact]]:
        """Do `finish`, and also return the buffered exchanges, connection by connection."""
        flushed = [self._flush(track) for track in self._tracks.values()]
        self._tracks.clear()
        self._due.clear()
        due = [exchange for exchanges, _ in flushed for exchange in exchanges]
        return due, [fact for _, facts in flushed for fact in facts]

    def _view(self, exchange: Exchange) -> ExchangeView:
        capture_set = exchange.connection.capture_set
        view = ExchangeView(exchange, not self._holed or capture_set not in self._holed)
        if view.losses:
            self._holed.add(capture_set)
        return view

    def _flush(self, track: Track) -> tuple[list[Exchange], list[Fact]]:
        due = track.flush()
        return due, [fact for exchange in due for fact in self._feed_in_order(self._view(exchange), track)]

    def _feed_in_order(self, view: ExchangeView, track: Track) -> list[Fact]:
        connection, negotiations = view.info.id, self.versions.connections
        if track.negotiation is not None and connection not in negotiations:
            # Exchanges of settled kinds do not use it.
            negotiations.put(connection, track.negotiation.copied())
        facts = self._feed(self._watching(view.key, view.version).in_stream_order, view)
        known = negotiations.peek(connection)
        track.negotiation = None if known is None else known.at_rest()
        has_state = connection in self.sasl.connections or connection in self.throttling.connections
        track.is_quiet = known is not None and not has_state
        return facts

    def _feed(self, watchers: Watchers, view: ExchangeView) -> list[Fact]:
        facts: list[Fact] = []
        if view.is_read and not self._missed:  # nearly always
            for feed in watchers.feeds:
                facts += feed(view)
            return facts
        for machine in watchers.machines:
            facts += self._feed_one(machine, view)
        return facts

    def _feed_one(self, machine: Machine, view: ExchangeView) -> list[Fact]:
        if view.is_read and not self._missed:
            return machine.feed(view)
        others_whole = view.others_whole
        place = machine, view.info.capture_set, str(view.info.client.host)
        if machine.api_keys is not None:
            view.others_whole = others_whole and place not in self._missed
        facts = machine.feed(view)
        if view.is_misread and self._counts_missed(machine):
            self._missed.add(place)
        view.others_whole = others_whole
        return facts

    def _counts_missed(self, machine: Machine) -> bool:
        """Return whether this class notes what a machine cannot read. Producers count on their own, by
        connection.
        """
        return (
            machine.api_keys is not None and machine is not self.producers and len(self._missed) < MISSED_KEPT
        )
