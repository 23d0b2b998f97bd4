"""Statistics: rates, response times, errors, by one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import Context, Key, key_maker
from kdissect.stats.times.series import LatencySeries
from kdissect.stats.times.stalls import Stalls
from kdissect.stats.traffic import Traffic, time_of
from kdissect.stats.traffic_rows import add_latencies, traffic_facts
from kdissect.tui.studies.study import Study, StudyContext

# Rows, and points of the plot: more than any screen shows at once.
_TOP = 500
_POINTS = 240


class TrafficStudy(Study):
    """The facts of `kdissect stats --over-time --format json`, by API, with the stalls of brokers.

    Its points over time have `latency_ns` too: `count`, `p50`, `p99`, None if no request was answered.
    """

    name = "traffic"
    has_own_filter = True
    counts_once = True
    by = "api"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._looked_up_in = Context(context.topics, GroupLinks())
        self._key_of = key_maker([self.by], self._looked_up_in)
        self.traffic = Traffic(self._keys)
        self._latency = LatencySeries()
        self._stalls = Stalls()
        self._counter: BlockCounter | None = None
        self._together: list[TrafficStudy] = [self]
        """Studies whose rows are counted with its own, itself first, empty if another study counts for it."""

    def meet(self, studies: Sequence[Study]) -> None:
        """Let the first study that counts blocks read each exchange for all of them."""
        if not self.may_count_blocks or not self._together:
            return
        alike = [study for study in studies if isinstance(study, TrafficStudy) and study.may_count_blocks]
        with_it = [study for study in alike if study is not self]
        if self.context.takes_kind is not None:
            # Groups are learned of what the filter leaves out, too, one exchange after the other: others need
            # not wait for that.
            with_it = [study for study in with_it if "group" not in (study.by, self.by)]
        parts = [study.follow(self) for study in with_it]
        self._together = [self, *with_it]
        self._counter = BlockCounter(
            self.traffic, [self.by], self._looked_up_in, self.context.takes_kind, self._latency, parts
        )
        for study in with_it:
            study._counter = self._counter  # noqa: SLF001  one of us

    def follow(self, other: TrafficStudy) -> tuple[Traffic, list[str]]:
        """Leave the counting to another study, which has the total, the series and the topic names.

        Returns what it counts.
        """
        self._together = []
        self._latency, self._stalls = other._latency, other._stalls
        self._key_of = key_maker([self.by], other._looked_up_in)
        self.traffic.share(other.traffic)
        return self.traffic, [self.by]

    @property
    def may_count_blocks(self) -> bool:
        """Whether the native engine can distinguish exchanges by the same key."""
        is_asked = self.context.is_filtered and self.context.takes_kind is None
        return is_compiled and BlockCounter.counts([self.by]) and not is_asked

    def _keys(self, view: ExchangeView) -> Sequence[Key]:
        return self._key_of(view)

    def takers(self) -> list[BlockTaker]:
        """Return the counter and the stalls, or a taker that skips all if another study counts for it."""
        if not self._together:
            return [BlockTaker(lambda block, _: len(block), lambda event, _: None)]
        if self._counter is None:
            return []
        return [
            BlockTaker.of_counted(self._counter.count, self._asking(self._count)),
            BlockTaker.of_counted(self._stalls.take_block, self._asking(self._wait)),
        ]

    def _asking(self, add: Callable[[Exchange], object]) -> Callable[[Exchange], object]:
        """Ask the filter about an exchange of a block before it is added."""
        takes_kind = self.context.takes_kind

        def add_asked(event: Exchange) -> None:
            self.takes = takes_kind is None or takes_kind(event)
            add(event)

        return add_asked

    def add(self, event: Event) -> None:
        """Take an event."""
        if not self._together:
            return
        if isinstance(event, Exchange):
            self._count(event)
            self._wait(event)
        elif isinstance(event, ConnectionClosed):
            self._stalls.close(event)
            if self._counter is not None:
                self._counter.close(event.connection)

    def _wait(self, event: Exchange) -> None:
        self._stalls.add_exchange(event, self.takes)

    def _count(self, event: Exchange) -> None:
        view = ExchangeView(event)
        self._looked_up_in.learn(view, [study.by for study in self._together])
        if self.takes:
            self.traffic.add(view, [study.traffic for study in self._together[1:]])
            if event.latency_ns is not None:
                self._latency.add(time_of(event), event.latency_ns)
        else:
            self.context.topics.pass_by(event)

    def result(self) -> dict[str, Any]:
        """Return rows, totals and the points over time (`stats.traffic_rows`)."""
        if self._counter is not None:
            self._counter.catch_up()
        facts = traffic_facts(self.traffic, [self.by], _TOP, _POINTS)
        facts["stalls"] = self._stalls.facts(self.traffic.throttled)
        add_latencies(facts["over_time"], self._latency, self.traffic.series.narrowed(_POINTS))
        return facts


class TrafficByClient(TrafficStudy):
    """The traffic by client id."""

    name = "traffic by client_id"
    by = "client_id"


class TrafficByTopic(TrafficStudy):
    """The traffic by topic."""

    name = "traffic by topic"
    by = "topic"


class TrafficByBroker(TrafficStudy):
    """The traffic by broker."""

    name = "traffic by broker"
    by = "broker"


class TrafficByGroup(TrafficStudy):
    """The traffic by group."""

    name = "traffic by group"
    by = "group"


class TrafficBySoftware(TrafficStudy):
    """The traffic by client library."""

    name = "traffic by software"
    by = "software"


class TrafficByConnection(TrafficStudy):
    """The traffic by connection. `ends` names the client and broker of each row."""

    name = "traffic by connection"
    by = "connection"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._ends: dict[str, str] = {}

    def _keys(self, view: ExchangeView) -> Sequence[Key]:
        if len(self._ends) < self.traffic.most:
            info = view.info
            self._ends.setdefault(info.id, f"{info.client_text} > {info.broker_text}")
        return super()._keys(view)

    def result(self) -> dict[str, Any]:
        """Return rows with their ends."""
        facts = super().result()
        for row in facts["rows"]:
            row["ends"] = self._ends.get(row["connection"], row["connection"])
        return facts
