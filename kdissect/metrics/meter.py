"""Counts an analyzer's events as they pass, and returns all counts at any moment, to any thread.

The thread that analyses calls `take`. The server's threads call `snapshot`. A lock makes the counts of the
taken events consistent. Counts of other owners (findings, anomalies of open connections) are read without it:
these numbers grow, and each was right at some moment of the scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any, NoReturn

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.exchange_metrics import ExchangeMetrics
from kdissect.metrics.group_metrics import GroupMetrics
from kdissect.metrics.label_sets import MAX_LABEL_SETS, Labels
from kdissect.metrics.metered_blocks import BlockMeter
from kdissect.metrics.snapshot import CaptureCounts, Snapshot
from kdissect.model.finding import Finding
from kdissect.model.native import is_compiled, native
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event, Events
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stages.block_takers import BlockTaker, take_block

# A dict that grows while it is read makes the reader begin again. Growth is too rare to reach this number.
_TRIES = 20


class Meter:
    """Meter of events. `limit` bounds label sets. The owner sets the sources of the other counts:

    `capture` returns counts of the capture, `findings` the findings so far, `other_anomalies` anomalies of
    packets and files by kind.
    """

    def __init__(self, names: TopicNames, limit: int = MAX_LABEL_SETS) -> None:
        self.capture: Callable[[], CaptureCounts] | None = None
        self.findings: Callable[[], Iterable[Finding]] | None = None
        self.other_anomalies: Callable[[], Mapping[str, int]] | None = None
        self._lock = Lock()
        self._exchanges = ExchangeMetrics(names, limit)
        self._groups = GroupMetrics(names, limit)
        self._blocks = BlockMeter(self._exchanges, names) if is_compiled else None
        self._connections: Counter[str] = Counter()
        self._open: dict[str, ConnectionInfo] = {}
        self._anomalies: Counter[str] = Counter()
        """Of exchanges, and of connections that are closed."""
        self._reported: Counter[str] = Counter()
        """Anomalies as reported last: a connection that closes meanwhile must not make them fewer."""

    def take(self, events: Events) -> None:
        """Count the analyzer's next events."""
        with self._lock:
            if self._blocks is None or not isinstance(events, native.ExchangeBlock):
                for event in events:
                    self._add(event)
                    if isinstance(event, Exchange):
                        self._groups.add(event)
                return
            takers = (
                BlockTaker(self._blocks.count, lambda event, _: self._add(event)),
                BlockTaker(self._groups.count_block, lambda event, _: self._groups.add(event)),
            )
            take_block(events, takers, _raise)

    def _add(self, event: Event) -> None:
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
        """Return all counts as they are now."""
        with self._lock:
            if self._blocks is not None:
                self._blocks.catch_up()
            counted = (*self._exchanges.copies(), self._groups.counts())
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


def _raise(error: Exception, _where: object) -> NoReturn:
    raise error


def _by_rule(findings: Iterable[Finding]) -> dict[Labels, int]:
    found: Counter[Labels] = Counter()
    for finding in findings:
        found[finding.code, str(finding.severity)] += finding.count
    return dict(found)


def _count(into: Counter[str], counts: Mapping[Any, int]) -> None:
    for kind, count in counts.items():
        into[str(kind)] += count


def _patiently(read: Callable[[], Mapping[Any, int]]) -> Mapping[Any, int]:
    """Return a copy of a mapping that another thread changes, or an empty one if it changes during each
    try.
    """
    for _ in range(_TRIES):
        try:
            return read()
        except RuntimeError:  # a dictionary changed its size during iteration
            continue
    return {}
