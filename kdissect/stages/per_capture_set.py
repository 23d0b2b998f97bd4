"""The per-capture-set stage: events with stub frames, in order, to what crosses connections.

It feeds the same machines and statistics that the commands feed, with the events in the order in which one
process reports them, so its results equal those of one process. It costs one task for each capture set, with
the bytes of exchanges without records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.history.connections.connection_problems import PlainEnd
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.serdes.schemas import Schemas
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker
from kdissect.stages.forwarding import Silenced
from kdissect.stages.judges import CaptureSetJudge, JudgedAside, Judgement
from kdissect.stages.per_flow import EVERY, JUDGEMENT, OF_JUDGES, OF_STATES, Judging, judgement_batch
from kdissect.stages.rows.latency_rows import LatencyRows
from kdissect.stages.rows.state_rows import group_rows, producer_rows, topic_rows, transaction_rows
from kdissect.stages.rows.table_rows import TableRows
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic


class Aside(NamedTuple):
    """State of one connection in a stage: its judge, and the producers' counter."""

    judged: JudgedAside | None
    due: int


class CaptureSetStage:
    """Takes the events of a capture set, whole or with stub frames, in order; `close` returns the tables.

    With `schemas`, the rules about keys and values apply: exchanges must have their records. A stage that
    `counts_blocks` also takes blocks by its `takers`, in the native engine. It cannot be
    pickled.
    """

    def __init__(
        self,
        capture_set: str,
        tables: frozenset[str],
        names: TopicNames,
        judging: Judging | None = None,
        *,
        counts_blocks: bool = False,
        schemas: Schemas | None = None,
    ) -> None:
        self._capture_set = capture_set
        self._tables = tables & OF_STATES
        self._judge: CaptureSetJudge | None = None
        if tables & OF_JUDGES:
            self._judge = _new_judge(judging, names, schemas)
        wants_latencies = self._wants("latencies", "rates")
        self._latencies = LatencyRows(capture_set, counts_blocks) if wants_latencies else None
        self._topics = TopicTraffic(names) if self._wants("topics") else None
        self._groups = GroupTraffic(names) if self._wants("groups") else None
        self._producers = ProducerTraffic(names) if self._wants("producers", "transactions") else None

    def _wants(self, *tables: str) -> bool:
        return not self._tables.isdisjoint(tables)

    def add(self, event: Event, silenced: Silenced) -> None:
        """Take the next event; `silenced` are the findings that rules of the per-flow stage silenced when it
        came.
        """
        if isinstance(event, Exchange):
            event.bodies()  # decoded once for all
        self.add_kept(event)
        if self._judge is not None:
            self._judge.add_replayed(event, silenced)
        if isinstance(event, Exchange):
            event.forget_bodies()

    def add_kept(self, event: Event) -> None:
        """Take the next event for the tables alone, and leave it as it is."""
        if isinstance(event, Exchange):
            if self._latencies is not None:
                self._latencies.add(ExchangeView(event))
            if self._topics is not None:
                self._topics.add(event)
            if self._groups is not None:
                self._groups.add(event)
        if self._producers is not None:
            self._producers.add(event)

    def set_aside(self, connection: str) -> Aside | None:
        """Remove and return the state of a silent connection; None if other state depends on it."""
        producers = None if self._producers is None else self._producers.history
        if producers is not None and producers.has_track(connection):
            return None
        judged = None if self._judge is None else self._judge.set_aside(connection)
        if self._judge is not None and judged is None:
            return None
        return Aside(judged, 0 if producers is None else producers.set_aside(connection))

    def take_up(self, connection: str, aside: Aside) -> None:
        """Go on with a connection as if it had been here all the time."""
        if self._judge is not None and aside.judged is not None:
            self._judge.take_up(connection, aside.judged)
        if self._producers is not None and aside.due:
            self._producers.history.go_on(connection, aside.due)

    def close_plain(self, end: PlainEnd, connections: Collection[str]) -> list[str]:
        """Take equal ends of connections that are set aside and that only ends may follow. Return the
        connections whose events must be added one by one.
        """
        return [] if self._judge is None else self._judge.close_plain(end, connections)

    def asks(self, wake: Callable[[str], object]) -> None:
        """Call `wake` with each connection that is judged for something others did."""
        if self._judge is not None:
            self._judge.wake = wake

    def takers(self) -> list[BlockTaker]:
        """Return the takers of a block's exchanges, which replace `add_kept`."""
        found: list[BlockTaker] = []
        if self._latencies is not None:
            latencies = self._latencies
            found.append(
                BlockTaker.of_counted(latencies.count_block, lambda event: latencies.add(ExchangeView(event)))
            )
        takers: tuple[TopicTraffic | GroupTraffic | ProducerTraffic | None, ...]
        takers = self._topics, self._groups, self._producers
        return found + [BlockTaker.of_counted(one.count_block, one.add) for one in takers if one is not None]

    def close(self) -> Iterator[tuple[str, Any]]:
        """End the capture set."""
        rows = TableRows(self._tables)
        for table, row in self._rows():
            if table in self._tables:
                rows.add(table, row)
                yield from rows.take()
        yield from rows.close()
        if self._judge is not None:
            self._judge.finish()
            judgement = Judgement()
            judgement.merge(self._judge)
            yield JUDGEMENT, judgement_batch(judgement)

    def _rows(self) -> Iterator[tuple[str, Row]]:
        capture_set = self._capture_set
        if self._latencies is not None:
            self._latencies.finish()
            yield from (("latencies", row) for row in self._latencies.latencies())
            yield from (("rates", row) for row in self._latencies.rates())
        if self._topics is not None:
            yield from (("topics", row) for row in topic_rows(capture_set, topic_facts(self._topics)))
        if self._groups is not None:
            yield from (("groups", row) for row in group_rows(capture_set, group_facts(self._groups)))
        if self._producers is not None:
            self._producers.finish()
            facts = producer_facts(self._producers)
            yield from (("producers", row) for row in producer_rows(capture_set, facts))
            yield from (("transactions", row) for row in transaction_rows(capture_set, facts))


def _new_judge(judging: Judging | None, names: TopicNames, schemas: Schemas | None) -> CaptureSetJudge:
    if schemas is None:
        return CaptureSetJudge(*(judging or Judging()))
    from kdissect.engine.records.value_faults import ValuesBySet  # start-up: of --schemas

    return CaptureSetJudge(*(judging or EVERY), values_of=ValuesBySet(schemas, names).of)
