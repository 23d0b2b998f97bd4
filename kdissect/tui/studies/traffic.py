"""Statistics: rates, response times, errors, by one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled, native
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.sketches.distribution import Distribution
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import Context, Key, key_maker
from kdissect.stats.times.series import LatencySeries
from kdissect.stats.traffic import Traffic, time_of
from kdissect.stats.traffic_rows import traffic_facts
from kdissect.tui.studies.study import Study, StudyContext

# Rows, and points of the plot: more than any screen shows at once.
_TOP = 500
_POINTS = 240


class TrafficStudy(Study):
    """What `kdissect stats --over-time --format json` shows, by API.

    Its points over time have `latency_ns` too: `count`, `p50`, `p99`, None where nothing was answered.
    """

    name = "traffic"
    has_own_filter = True
    counts_once = True
    by = "api"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._links = GroupLinks()
        looked_up_in = Context(context.topics, self._links)
        self._key_of = key_maker([self.by], looked_up_in)
        self._traffic = Traffic(self._keys)
        self._latency = LatencySeries()
        self._counter: BlockCounter | None = None
        is_asked = context.is_filtered and context.takes_kind is None
        if is_compiled and BlockCounter.counts([self.by]) and not is_asked:
            self._counter = BlockCounter(
                self._traffic, [self.by], looked_up_in, context.takes_kind, self._latency
            )
        self.takes_blocks = self._counter is not None

    def _keys(self, view: ExchangeView) -> Sequence[Key]:
        return self._key_of(view)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take what fits."""
        return start if self._counter is None else self._counter.count(block, start)

    def add(self, event: Event) -> None:
        """Take an event."""
        if not isinstance(event, Exchange):
            if isinstance(event, ConnectionClosed) and self._counter is not None:
                self._counter.close(event.connection)
            return
        view = ExchangeView(event)
        if self.by == "group":
            self._links.learn(view)
        if self.takes:
            self._traffic.add(view)
            if event.latency_ns is not None:
                self._latency.add(time_of(event), event.latency_ns)
        else:
            self.context.topics.pass_by(event)

    def result(self) -> dict[str, Any]:
        """Rows, totals and the points over time (`stats.traffic_rows`)."""
        if self._counter is not None:
            self._counter.catch_up()
        facts = traffic_facts(self._traffic, [self.by], _TOP, _POINTS)
        found = dict(self._latency.like(self._traffic.series.narrowed(_POINTS)).points())
        for point in facts["over_time"]["points"]:
            point["latency_ns"] = _percentiles(found.get(point["time_ns"]))
        return facts


def _percentiles(times: Distribution | None) -> dict[str, int] | None:
    if times is None:
        return None
    return {"count": times.count, "p50": times.quantile(0.5) or 0, "p99": times.quantile(0.99) or 0}


class TrafficByClient(TrafficStudy):
    """By client id."""

    name = "traffic by client_id"
    by = "client_id"


class TrafficByTopic(TrafficStudy):
    """By topic."""

    name = "traffic by topic"
    by = "topic"


class TrafficByBroker(TrafficStudy):
    """By broker."""

    name = "traffic by broker"
    by = "broker"


class TrafficByGroup(TrafficStudy):
    """By group."""

    name = "traffic by group"
    by = "group"


class TrafficBySoftware(TrafficStudy):
    """By client library."""

    name = "traffic by software"
    by = "software"


class TrafficByConnection(TrafficStudy):
    """By connection; `ends` says which client and broker each row is about."""

    name = "traffic by connection"
    by = "connection"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._ends: dict[str, str] = {}

    def _keys(self, view: ExchangeView) -> Sequence[Key]:
        if len(self._ends) < self._traffic.most:
            info = view.info
            self._ends.setdefault(info.id, f"{info.client_text} > {info.broker_text}")
        return super()._keys(view)

    def result(self) -> dict[str, Any]:
        """Rows with their ends."""
        facts = super().result()
        for row in facts["rows"]:
            row["ends"] = self._ends.get(row["connection"], row["connection"])
        return facts
