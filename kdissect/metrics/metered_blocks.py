"""Exchanges of blocks for `ExchangeMetrics`: the native engine counts most of them, Python counts the others
one by one.

Native builds only. A new key appears here in its order, so that label sets, and the labels that become
`other`, are equal to those from `ExchangeMetrics.add`. That function takes exchanges with errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import union
from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames, tells_names
from kdissect.metrics.exchange_metrics import ExchangeMetrics
from kdissect.metrics.label_sets import Labels
from kdissect.metrics.tallies import BOUNDS_NS, ExchangeTally, TopicTally
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.counted_blocks import kind_row
from kdissect.stats.dimensions import MANY
from kdissect.stats.watermarks import PARTITIONS_KEPT

# Groups of exchanges that are distinguished, of some 500 bytes, and places of connections. Above the bound,
# both begin again.
_GROUPS_KEPT = 10_000
_WireTopic = tuple[bool, bytes]
"""Whether it is an id, and its bytes or the name's bytes."""


class _Group(NamedTuple):
    """The tallies of exchanges that are equal in all labels. `topics` are the tallies of topics that the
    bodies name.
    """

    exchanges: ExchangeTally
    broker: tuple[str | None, str | None]
    topics: tuple[TopicTally, ...]
    wire_topics: list[_WireTopic]


class BlockMeter:
    """Counter of blocks for `metrics`, which has all counts after `catch_up`."""

    def __init__(self, metrics: ExchangeMetrics, names: TopicNames) -> None:
        self._metrics = metrics
        self._names = names
        self._watermarks = native.Watermarks(PARTITIONS_KEPT)
        metrics.watermarks = self._watermarks
        self._begin()

    def _begin(self) -> None:
        self._places: dict[tuple[str, ...], int] = {}
        self._groups: list[_Group] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        by = True, True, False, False, False, True, False  # kind, client id and topics
        self._counter = native.TrafficCounter(
            [by], _kind_of, self._place_of, self._group_of, self._changes, self._meet, self._watermarks,
            BOUNDS_NS, True, (), 0, False, None, None,
        )  # fmt: skip

    def count(self, block: native.ExchangeBlock, start: int) -> int:
        """Count a block from `start` on. Return the first exchange that Python must read, or the block's
        length.
        """
        if max(len(self._groups), len(self._places)) >= _GROUPS_KEPT:
            self.catch_up()
            self._begin()
        return self._counter.count(block, start)

    def catch_up(self) -> None:
        """Hand over what was counted since the last time."""
        for number, group in enumerate(self._groups):
            counted, sizes = self._counter.take_tally(number)
            for topic, size in zip(group.topics, sizes, strict=False):
                topic.record_bytes += size
            if counted is None:
                continue
            (answered, silent), sums, _, _, (latency, broker, throttle, _) = counted
            exchanges = group.exchanges
            exchanges.requests += answered + silent
            exchanges.responses += answered
            *_, request_bytes, response_bytes, _ = sums
            exchanges.request_bytes += request_bytes
            exchanges.response_bytes += response_bytes
            if throttle is not None:
                exchanges.throttle_ns += throttle[2]
            exchanges.latency.add_row(latency)
            if broker is not None:
                self._metrics.brokers.at(group.broker).add_row(broker)
            for topic in group.topics:
                topic.requests += answered + silent
                topic.latency.add_row(latency)

    def _place_of(self, info: ConnectionInfo) -> tuple[str, list[int]]:
        """Return the capture set, and a number for the facts from which all labels and names follow."""
        place = info.capture_set, info.broker_address, info.broker_text
        return info.capture_set, [self._places.setdefault(place, len(self._places))]

    def _changes(self) -> int:
        return self._names.changes

    def _group_of(self, exchange: Exchange, _way: int) -> tuple[list[int], list[_WireTopic]] | None:
        """Return the number of the group, and its topics, or None if some topic has no name that is a
        label.
        """
        labels = self._metrics.labels_of(ExchangeView(exchange))
        wire_topics = self._wire_topics(exchange)
        if wire_topics is None or len(wire_topics) != len(labels.topics) or MANY in labels.topics:
            return None
        key: Labels | tuple[Any, ...] = labels, tuple(wire_topics)
        number = self._numbers.setdefault(key, len(self._groups))
        if number == len(self._groups):
            exchanges, topics = self._metrics.tallies_of(labels)
            self._groups.append(_Group(exchanges, labels[:2], topics, wire_topics))
        return [number], wire_topics

    def _wire_topics(self, exchange: Exchange) -> list[_WireTopic] | None:
        """Return the topics of both bodies, in the order of their names, or None if one has no text or no
        name.
        """
        asked, answered = exchange.request_summary(), exchange.response_summary()
        ids = union(asked.topic_ids, answered.topic_ids)
        if any(self._names.name(exchange.connection, topic_id) is None for topic_id in ids):
            return None
        try:
            names = [name.encode() for name in union(asked.topics, answered.topics)]
        except UnicodeEncodeError:
            return None
        return [(False, name) for name in names] + [(True, topic_id) for topic_id in ids]

    def _meet(self, number: int, _is_answered: bool, is_timed: bool, _errors: list[int]) -> None:
        if is_timed:
            self._metrics.brokers.at(self._groups[number].broker)


def _kind_of(api_key: int, version: int) -> tuple[Any, ...] | None:
    """Return how exchanges are read, or None if Python reads them, as they contain names of topics, or
    records that a member may not have acquired.
    """
    is_pythons = tells_names(api_key) or api_key == apis.SHARE_FETCH
    row = None if is_pythons else kind_row(api_key, version, reads_topics=True)
    if row is None:
        return None
    rows = transfer_rows(api_key, version) if api_key in (apis.PRODUCE, apis.FETCH) else None
    if rows is None:
        return *row, None, False
    is_response = api_key == apis.FETCH
    return *row, (is_response, rows.response if is_response else rows.request), False
