"""Counts an analyzer's events while they go by, and gives all counts at any moment, to any thread.

The thread that analyses calls `add`; the server's threads call `snapshot`. A lock keeps one exchange's counts
together. What others own (findings, anomalies of open connections) is read without it: those are numbers that
grow, and each was right at some moment of the scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topic_names import TopicNames
from kdissect.metrics.label_sets import MAX_LABEL_SETS, Labels, LabelSets
from kdissect.metrics.snapshot import CaptureCounts, Snapshot
from kdissect.metrics.tallies import Count, ExchangeTally, TimeHistogram, TopicTally
from kdissect.model.finding import Finding
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.by_topic.topic_traffic import partition_errors, topic_bytes
from kdissect.stats.dimensions import MANY, Context, key_maker
from kdissect.stats.response_time import response_time
from kdissect.stats.watermarks import Watermarks

# A dict that grows while it is read makes the reader begin again; growth is too rare for this to be reached.
_TRIES = 20
_SEVERAL = "(several)"
_BY_PARTITION = frozenset({apis.PRODUCE, apis.FETCH, apis.SHARE_FETCH})

Copies = tuple[
    dict[Labels, ExchangeTally], dict[Labels, Count], dict[Labels, TimeHistogram], dict[Labels, TopicTally],
    dict[Labels, Count],
]  # fmt: skip


class Meter:
    """`limit` bounds label sets. Whoever has them sets where the other counts come from:

    `capture` gives counts of the capture, `findings` the findings so far, `other_anomalies` anomalies of
    packets and files by kind.
    """

    def __init__(self, names: TopicNames, limit: int = MAX_LABEL_SETS) -> None:
        self.capture: Callable[[], CaptureCounts] | None = None
        self.findings: Callable[[], Iterable[Finding]] | None = None
        self.other_anomalies: Callable[[], Mapping[str, int]] | None = None
        self._lock = Lock()
        self._exchanges = ExchangeMetrics(names, limit)
        self._connections: Counter[str] = Counter()
        self._open: dict[str, ConnectionInfo] = {}
        self._anomalies: Counter[str] = Counter()
        """Of exchanges, and of connections that are closed."""
        self._reported: Counter[str] = Counter()
        """Anomalies as reported last: a connection that closes meanwhile must not make them fewer."""

    def add(self, event: Event) -> None:
        """Count the analyzer's next event."""
        with self._lock:
            if isinstance(event, Exchange):
                self._exchanges.add(ExchangeView(event))
                for anomaly in event.all_anomalies():
                    self._anomalies[str(anomaly.kind)] += 1
            elif isinstance(event, ConnectionOpened):
                self._connections[str(event.connection.kind)] += 1
                self._open[event.connection.id] = event.connection
            elif isinstance(event, ConnectionClosed):
                self._open.pop(event.connection.id, None)
                _count(self._anomalies, event.connection.anomaly_counts)

    def snapshot(self) -> Snapshot:
        """All counts as they are now."""
        with self._lock:
            counted = self._exchanges.copies()
            connections = dict(self._connections)
            infos = list(self._open.values())
            anomalies = self._anomalies.copy()
        return Snapshot(
            *counted,
            connections,
            dict.fromkeys(connections, 0) | Counter(str(info.kind) for info in infos),
            self._all_anomalies(anomalies, infos),
            None if self.findings is None else _by_rule(self.findings()),
            None if self.capture is None else self.capture(),
        )

    def _all_anomalies(self, found: Counter[str], infos: list[ConnectionInfo]) -> Mapping[str, int]:
        for info in infos:
            _count(found, _patiently(info.anomalies_so_far))
        if self.other_anomalies is not None:
            found.update(_patiently(self.other_anomalies))
        with self._lock:
            self._reported |= found  # the larger of both
            return dict(self._reported)


def _by_rule(findings: Iterable[Finding]) -> dict[Labels, int]:
    found: Counter[Labels] = Counter()
    for finding in findings:
        found[finding.code, str(finding.severity)] += finding.count
    return dict(found)


def _count(into: Counter[str], counts: Mapping[Any, int]) -> None:
    for kind, count in counts.items():
        into[str(kind)] += count


def _patiently(read: Callable[[], Mapping[Any, int]]) -> Mapping[Any, int]:
    """What another thread is changing; nothing if it never holds still."""
    for _ in range(_TRIES):
        try:
            return read()
        except RuntimeError:  # a dictionary changed its size during iteration
            continue
    return {}


# Exchanges counted by API, broker, client id, topic and error code, in bounded memory.
#
# Rules:
# - An exchange counts once by API, broker and client id, so that sums over labels are right. Only the metrics
#   by topic count it under each of its topics.
# - An error code counts once an exchange, as in `stats`. By topic it counts where the response says of which
#   topic it is, or the exchange has one topic only; else under `_SEVERAL`.
# - The labels are those of `stats.dimensions`, how long the broker took `stats.response_time`.
class ExchangeMetrics:
    """Feed it exchanges with `add`. Its parts are label sets with counts; labels in the order named here.

    `exchanges`: api, broker, client id. `errors`: api, error, broker, client id. `brokers`: api, broker.
    `topics`: api, topic. `topic_errors`: api, error, topic. `limit` bounds each of them.
    """

    def __init__(self, names: TopicNames, limit: int = MAX_LABEL_SETS) -> None:
        self._names = names
        context = Context(names, GroupLinks())
        self._key = key_maker(("api", "broker", "client_id"), context)
        self._topics_of = key_maker(("topic",), context)
        self._watermarks = Watermarks()
        self.exchanges = LabelSets(ExchangeTally, limit)
        self.errors = LabelSets(Count, limit)
        self.brokers = LabelSets(TimeHistogram, limit)
        self.topics = LabelSets(TopicTally, limit)
        self.topic_errors = LabelSets(Count, limit)

    def add(self, view: ExchangeView) -> None:
        """Count the next exchange, in the order in which the analyzer reports them."""
        exchange = view.exchange
        times = response_time(view, self._watermarks)
        api, broker, client_id = self._key(view)[0]
        self.exchanges.at((api, broker, client_id)).add(exchange, times)
        if times is not None and times.broker is not None:
            self.brokers.at((api, broker)).add(times.broker)
        codes = exchange.response_summary().errors
        for code in codes:
            self.errors.at((api, error_name(code), broker, client_id)).value += 1
        topics = [topic for (topic,) in self._topics_of(view) if topic is not None]
        if topics:
            self._count_topics(view, api, topics, codes)

    def copies(self) -> Copies:
        """All counts as they are now."""
        return (
            self.exchanges.copies(), self.errors.copies(), self.brokers.copies(), self.topics.copies(),
            self.topic_errors.copies(),
        )  # fmt: skip

    def _count_topics(
        self, view: ExchangeView, api: str | None, topics: list[str], codes: Sequence[int]
    ) -> None:
        latency = view.exchange.latency_ns
        for topic in topics:
            tally = self.topics.at((api, topic))
            tally.requests += 1
            if latency is not None:
                tally.latency.add(latency)
        for topic, size in topic_bytes(view.exchange, self._names):
            self.topics.at((api, topic)).record_bytes += size
        if codes:
            for topic, code in self._topic_errors(view, topics, codes):
                self.topic_errors.at((api, error_name(code), topic)).value += 1

    def _topic_errors(
        self, view: ExchangeView, topics: list[str], codes: Sequence[int]
    ) -> Iterator[tuple[str, int]]:
        if len(topics) == 1:
            owner = _SEVERAL if topics[0] == MANY else topics[0]
            yield from ((owner, code) for code in codes)
            return
        found = set()
        errors = partition_errors(view) if view.key in _BY_PARTITION else {}
        for (named, _), code in errors.items():
            name = self._names.name(view.info, named) if isinstance(named, bytes) else named
            if code and name is not None:
                found.add((name, code))
        yield from sorted(found)
        yield from ((_SEVERAL, code) for code in codes if code not in {known for _, known in found})
