"""One pass over the events: everything that causes look at learns what it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.causes.evidence.broken_off_responses import BrokenOffResponses
from kdissect.causes.evidence.clock import Clock
from kdissect.causes.evidence.cluster_mixups import ClusterMixups
from kdissect.causes.evidence.deleted_offsets import DeletedOffsets
from kdissect.causes.evidence.deletions import Deletions
from kdissect.causes.evidence.exchange_log import ExchangeLog
from kdissect.causes.evidence.facts_read import name_of
from kdissect.causes.evidence.idle_resets import IdleResets
from kdissect.causes.evidence.links import Links
from kdissect.causes.evidence.offline_partitions import OfflinePartitions
from kdissect.causes.evidence.old_versions import OldVersions
from kdissect.causes.evidence.recompressions import Recompressions
from kdissect.causes.evidence.resends import Resends
from kdissect.causes.evidence.rewinds import Rewinds, WatchedGroups
from kdissect.causes.evidence.same_starts import SameStarts
from kdissect.causes.evidence.session_ends import SessionEnds
from kdissect.causes.evidence.watching_judge import WatchingJudge
from kdissect.history import api_keys as apis
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.history.connections.negotiated_versions import VersionFact
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.native import is_compiled, native
from kdissect.rules.views.connection_view import LATE_NS, ConnectionView
from kdissect.session.events import ConnectionClosed, Event, Events
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind
from kdissect.stages.block_takers import BlockTaker, Note, take_block
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_fetcher.fetch_session_traffic import FetchSessionTraffic
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.client import Client
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.racks import Racks
from kdissect.stats.times.silences import Silences
from kdissect.stats.times.stalls import Stalls
from kdissect.stats.times.waited import bytes_are_missing
from kdissect.stats.traffic import Traffic, time_of

if TYPE_CHECKING:
    from kdissect.engine.records.value_faults import ValueFaults
    from kdissect.stats.times.series import LatencySeries

_TELL_RACKS = frozenset({apis.METADATA, apis.DESCRIBE_CLUSTER})
_UNFILTERED = (VersionFact.OFFERED, TransactionFact.TAKEN)
"""A filter does not change which versions a broker offers, and who took a transactional id."""
BY = ("api", "client_id", "client", "broker")
FACTS_KEPT = 2_000  # of each kind
PROBLEMS_KEPT = 10_000


class KnownFact(NamedTuple):
    """A fact, and who it is about. `scope`: of the cluster (`session.identities`)."""

    fact: Fact
    client: Client | None
    broker: str
    scope: str = ""


class Gathering:
    """Give it all events with `take`, then `finish`.

    `wants` decides which exchanges count, with all others as their background; None: all of them. A
    connection counts if one of its exchanges does. `values` reads keys and values, `latencies` counts
    response times over time.
    """

    def __init__(
        self,
        names: TopicNames,
        wants: Callable[[Exchange], bool] | None = None,
        values: ValueFaults | None = None,
        latencies: LatencySeries | None = None,
    ) -> None:
        self._wants = wants
        self._latencies = latencies
        self.values = values
        self._wanted_connections: set[str] = set()
        """Open connections that had an exchange that counts. Empty without `wants`."""
        self.names = names
        silences = Silences()
        self.log = ExchangeLog(names, silences.responds_within)
        self.offline = OfflinePartitions(names)
        self.links = Links()
        self.rewinds = Rewinds(names)
        self.deleted_offsets = DeletedOffsets(names, self.rewinds.committed)
        self.deletions, self.starts = Deletions(names), SameStarts(names)
        self.groups = WatchedGroups(names, self.rewinds, self.deleted_offsets, self.deletions, self.starts)
        self.stalls = Stalls(self.log.clients, silences)
        self.idle_resets = IdleResets(self.stalls.silences)
        self.session_ends = SessionEnds(self.stalls.silences)
        self.broken_off = BrokenOffResponses(names)
        self.racks = Racks()
        self.versions = OldVersions()
        self.producers = ProducerTraffic(names, is_selective=wants is not None)
        self.resends = Resends(names, self.producers.written)
        self.fetchers = FetchSessionTraffic()
        self.topics = TopicTraffic(names)
        self.recompressions = Recompressions(names, self.topics.mixed)
        self._topics_counted = self._block_judged = 0
        """The next exchange of a block that `topics` has not counted, and that is not judged."""
        self.mixups = ClusterMixups()
        self.blind = BlindSpots()
        self.problems: list[ConnectionProblem] = []
        self.facts: dict[str, list[KnownFact]] = {}
        self.kinds: Counter[str] = Counter()
        """Connections by what they carry, including connections that do not count."""
        self.kafka_connections = 0
        """Those that count."""
        self.first_ns = self.last_ns = 0
        self.clock = Clock()
        self._context = Context.of(names, BY)
        self.traffic = Traffic(key_maker(BY, self._context))
        """Exchanges that count."""
        self._all = None if wants is None else Traffic(key_maker(BY, self._context))
        self._counter = (
            BlockCounter(self.traffic, BY, self._context, latencies=latencies)
            if is_compiled and wants is None
            else None
        )
        self._judge = WatchingJudge(self.log.add, self._tell, self._report)
        self.broken, self.features = self._judge.broken, self._judge.features
        self.is_advertised = self._judge.is_advertised

    @property
    def background(self) -> Traffic:
        """All exchanges, whatever the filter accepts: evidence against causes."""
        return self.traffic if self._all is None else self._all

    @property
    def is_filtered(self) -> bool:
        """Whether some exchanges do not count."""
        return self._wants is not None

    # events

    def take(self, events: Events, note: Note) -> None:
        """Take the analyzer's next events, but for what raises."""
        if self._wants is None and is_compiled and isinstance(events, native.ExchangeBlock):
            take_block(events, self.takers(), note)
            return
        for event in events:
            if event.connection.same_as is not None:
                continue
            try:
                self.add(event)
            except Exception as error:
                note(error, event)

    def add(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Exchange):
            event.bodies()  # once for all
        self.add_kept(event)
        if isinstance(event, Exchange):
            event.forget_bodies()

    def add_kept(self, event: Event) -> None:
        """Take the next event, and leave it as it is."""
        wanted = True
        if isinstance(event, Exchange):
            wanted = self._wants is None or self._wants(event)
            if wanted and self._wants is not None:
                self._wanted_connections.add(event.connection.id)
            self.groups.add(event, wanted)
            self._add_topics(event, wanted)
            if wanted:
                self._compare_codecs(event)
            if self.values is not None:
                self.values.add(event)
            self._count(event, wanted)
            self.stalls.add_exchange(event, wanted)
            if wanted:
                self.broken_off.add(event)
        self.producers.add(event, wanted)
        self.fetchers.add(event, wanted)
        self.log.wanted = wanted
        self._judged(event)
        if isinstance(event, Exchange):
            self._look_for_dropped(event)
        if isinstance(event, ConnectionClosed):
            self._close(event)
        self.blind.add(event)

    def takers(self) -> list[BlockTaker]:
        """Return the takers of a block's exchanges, which replace `add` in native builds if all exchanges
        count.
        """
        assert self._counter is not None  # it exists if there are blocks
        of = BlockTaker.of_counted
        values = [] if self.values is None else [of(lambda _, start: start, self.values.add)]
        return [
            of(self.groups.count_block, self.groups.add),
            of(self._count_topics, self._add_topics),
            of(self._pass_codecs, self._compare_codecs),
            of(self._counter.count, self._count),
            of(self.producers.count_block, self.producers.add),
            of(self.fetchers.count_block, self.fetchers.add),
            of(self.stalls.take_block, self.stalls.add_exchange),
            of(self._judge_block, self._judged),
            of(self._pass_dropped, self._look_for_dropped),
            *values,
        ]

    def _count_topics(self, block: native.ExchangeBlock, start: int) -> int:
        self._topics_counted = self.topics.count_block(block, start)
        return self._topics_counted

    def _pass_codecs(self, block: native.ExchangeBlock, start: int) -> int:
        """Pass exchanges that are counted: then it is known whether a topic has a second codec."""
        return start if self.recompressions.waits else max(self._topics_counted, start)

    def _compare_codecs(self, exchange: Exchange) -> None:
        if self.recompressions.waits:
            self.recompressions.add(exchange)

    def _judge_block(self, block: native.ExchangeBlock, start: int) -> int:
        """As of `Judge`; all come as objects while a retry, or a leader, is looked for."""
        waits = self.resends.waits or self.offline.waits
        self._block_judged = start if waits else self._judge.take_block(block, start)
        return self._block_judged

    def _pass_dropped(self, block: native.ExchangeBlock, start: int) -> int:
        """Pass exchanges that are judged: then it is known whether a broker refused a batch."""
        return start if self.log.dropped.waits else max(self._block_judged, start)

    def _look_for_dropped(self, exchange: Exchange) -> None:
        if self.log.dropped.waits:
            self.log.dropped.add(exchange, exchange.api_key == apis.PRODUCE)

    def _judged(self, event: Event) -> None:
        if isinstance(event, Exchange) and (event.api_key == apis.METADATA or self.offline.waits):
            self.offline.add(ExchangeView(event), self.log.wanted)
        if isinstance(event, Exchange) and self.log.wanted:
            if event.api_key == apis.PRODUCE and (self.resends.waits or _is_late(event)):  # as in blocks
                self.resends.add(event)
            self.idle_resets.add(event)
            self.session_ends.add(event)
        self._judge.add(event)

    def _count(self, exchange: Exchange, wanted: bool = True) -> None:
        view = ExchangeView(exchange)
        self._context.learn(view, BY)
        if wanted:
            self.traffic.add(view)
            if self._latencies is not None and exchange.latency_ns is not None:
                self._latencies.add(time_of(exchange), exchange.latency_ns)
        if self._all is not None:
            self._all.add(view)

    def _add_topics(self, exchange: Exchange, wanted: bool = True) -> None:
        self.topics.add(exchange, wanted)
        if exchange.api_key in _TELL_RACKS or (exchange.api_key == apis.FETCH and self.log.racks):
            self.racks.learn(ExchangeView(exchange))

    def _close(self, event: ConnectionClosed) -> None:
        info = event.connection
        self.broken.close(info)
        self.session_ends.close(info)
        self.log.dropped.close(info)
        silent_since_ns = self._silent_since_ns(info)
        self.stalls.close(event)
        self.broken_off.close(info, self.groups.positions.leave(info))
        if self._counter is not None:
            self._counter.close(info)
        self.kinds[str(info.kind)] += 1
        self.kafka_connections += info.kind is ConnectionKind.KAFKA and self._counts(info)
        self.first_ns = min(self.first_ns or info.start_ns, info.start_ns)
        self.last_ns = max(self.last_ns or info.end_ns, info.end_ns)
        if self._counts(info) and (info.kind is ConnectionKind.KAFKA or info.kind is ConnectionKind.TLS):
            self.links.add(info, silent_since_ns)
            self.clock.add(info)
            self.versions.add(info)
            self.mixups.add(info)
        self._wanted_connections.discard(info.id)

    def _silent_since_ns(self, info: ConnectionInfo) -> int:
        """Return the time of the last response, if the client has received all that it asked for before the
        close. 0: not known, or requests waited.
        """
        last_ns = self.stalls.silences.last(info.id)
        waits = info.unanswered - self.idle_resets.asked_after_close(info.id)
        if last_ns is None or waits or info.no_response_expected or bytes_are_missing(info, last_ns):
            return 0
        return last_ns

    def _counts(self, info: ConnectionInfo) -> bool:
        return self._wants is None or info.id in self._wanted_connections

    def note_clock(self, files: Iterable[CaptureFile]) -> None:
        """Note whether a clock was set back, after the files were read."""
        self.clock.went_back |= any(
            one.kind is AnomalyKind.TIME_STEP_BACK for file in files for one in file.anomalies
        )

    def finish(self) -> None:
        """End the input."""
        self._judge.finish()
        self.producers.finish()
        self.fetchers.finish()
        self.topics.catch_up()
        self.groups.catch_up()
        if self._counter is not None:
            self._counter.catch_up()

    # facts from the judge

    def _tell(self, fact: Fact, view: ConnectionView | None) -> None:
        kept = self.facts.setdefault(name_of(fact.kind), [])
        if len(kept) < FACTS_KEPT and (self.log.wanted or fact.kind in _UNFILTERED):
            info = None if view is None else view.info
            client = None if info is None else self.log.clients.of(info, info.client_id)
            broker, scope = ("", "") if info is None else (info.broker_text, info.scope)
            kept.append(KnownFact(fact, client, broker, scope))

    def _report(self, found: ConnectionProblem) -> None:
        if len(self.problems) < PROBLEMS_KEPT and self._counts(found.connection):
            self.problems.append(found)


def _is_late(exchange: Exchange) -> bool:
    return exchange.latency_ns is None or exchange.latency_ns >= LATE_NS
