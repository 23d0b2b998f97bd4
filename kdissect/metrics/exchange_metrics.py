"""Exchanges counted by API, broker, client id, topic and error code, in bounded memory.

Rules:
- An exchange counts once by API, broker and client id, so that sums over labels are right. Only the metrics
  by topic count it under each of its topics.
- An error code counts once an exchange, as in `stats`. By topic it counts if the response names the topic of
  the code, or if the exchange has one topic only. Else it counts under `_SEVERAL`.
- The labels come from `stats.dimensions`, the broker's time from `stats.response_time`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.label_sets import MAX_LABEL_SETS, Labels, LabelSets
from kdissect.metrics.tallies import Count, ExchangeTally, TimeHistogram, TopicTally
from kdissect.schema.error_codes import error_name
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.by_topic.topic_traffic import partition_errors, topic_bytes
from kdissect.stats.dimensions import MANY, Context, key_maker
from kdissect.stats.times.response_time import response_time
from kdissect.stats.watermarks import HighWatermarks, Watermarks

_SEVERAL = "(several)"
_BY_PARTITION = frozenset({apis.PRODUCE, apis.FETCH, apis.SHARE_FETCH})

Copies = tuple[
    dict[Labels, ExchangeTally], dict[Labels, Count], dict[Labels, TimeHistogram], dict[Labels, TopicTally],
    dict[Labels, Count],
]  # fmt: skip


class ExchangeLabels(NamedTuple):
    """The labels of an exchange. `topics` are the topics that it names."""

    api: str | None
    broker: str | None
    client_id: str | None
    topics: tuple[str, ...]


class ExchangeMetrics:
    """Counters of exchanges, which `add` takes. The parts are label sets with counts, with labels in the
    order named here.

    `exchanges`: api, broker, client id. `errors`: api, error, broker, client id. `brokers`: api, broker.
    `topics`: api, topic. `topic_errors`: api, error, topic. `limit` bounds each of them.
    """

    def __init__(self, names: TopicNames, limit: int = MAX_LABEL_SETS) -> None:
        self._names = names
        context = Context(names, GroupLinks())
        self._key = key_maker(("api", "broker", "client_id"), context)
        self._topics_of = key_maker(("topic",), context)
        self.watermarks: HighWatermarks = Watermarks()
        self.exchanges = LabelSets(ExchangeTally, limit)
        self.errors = LabelSets(Count, limit)
        self.brokers = LabelSets(TimeHistogram, limit)
        self.topics = LabelSets(TopicTally, limit)
        self.topic_errors = LabelSets(Count, limit)

    def add(self, view: ExchangeView) -> None:
        """Count the next exchange, in the order in which the analyzer reports them."""
        exchange = view.exchange
        times = response_time(view, self.watermarks)
        api, broker, client_id, topics = labels = self.labels_of(view)
        tally, by_topic = self.tallies_of(labels)
        tally.add(exchange, times)
        if times is not None and times.broker is not None:
            self.brokers.at((api, broker)).add(times.broker)
        codes = exchange.response_summary().errors
        for code in codes:
            self.errors.at((api, error_name(code), broker, client_id)).value += 1
        if topics:
            self._count_topics(view, by_topic, labels, codes)

    def labels_of(self, view: ExchangeView) -> ExchangeLabels:
        """Return the labels of an exchange. Record the names of topics that it contains."""
        api, broker, client_id = self._key(view)[0]
        topics = tuple(topic for (topic,) in self._topics_of(view) if topic is not None)
        return ExchangeLabels(api, broker, client_id, topics)

    def tallies_of(self, labels: ExchangeLabels) -> tuple[ExchangeTally, tuple[TopicTally, ...]]:
        """Return the tally for exchanges with these labels, and the tallies by topic."""
        api, broker, client_id, topics = labels
        exchanges = self.exchanges.at((api, broker, client_id))
        return exchanges, tuple(self.topics.at((api, topic)) for topic in topics)

    def copies(self) -> Copies:
        """Return all counts as they are now."""
        return (
            self.exchanges.copies(), self.errors.copies(), self.brokers.copies(), self.topics.copies(),
            self.topic_errors.copies(),
        )  # fmt: skip

    def _count_topics(
        self,
        view: ExchangeView,
        tallies: tuple[TopicTally, ...],
        labels: ExchangeLabels,
        codes: Sequence[int],
    ) -> None:
        latency, api = view.exchange.latency_ns, labels.api
        for tally in tallies:
            tally.requests += 1
            if latency is not None:
                tally.latency.add(latency)
        for topic, size in topic_bytes(view.exchange, self._names):
            self.topics.at((api, topic)).record_bytes += size
        if codes:
            for topic, code in self._topic_errors(view, labels.topics, codes):
                self.topic_errors.at((api, error_name(code), topic)).value += 1

    def _topic_errors(
        self, view: ExchangeView, topics: Sequence[str], codes: Sequence[int]
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
