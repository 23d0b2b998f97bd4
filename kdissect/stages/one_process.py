"""All tables by one process, in one pass: what `kdissect tables` writes, and distributed runs must equal.

Rows come from the events of one analyzer, findings from one judge: nothing here is staged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.api import Dissection
from kdissect.capture.files import ends_of, numbers_in_sets
from kdissect.engine.event_order import OrderedAnalyzer, Placed, PlacedEvents
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.model.native import native
from kdissect.rules.judge import Judge
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker, take_block
from kdissect.stages.judges import Judgement
from kdissect.stages.per_capture_set import CaptureSetStage
from kdissect.stages.per_flow import OF_CONNECTIONS, OF_JUDGES, OF_STATES, Judging
from kdissect.stages.rows.file_rows import file_anomaly_rows, file_rows
from kdissect.stages.rows.flow_rows import ExchangeTables
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.rows.table_rows import TableRows


def produce(
    dissection: Dissection, tables: frozenset[str], judging: Judging | None = None
) -> Iterator[tuple[str, Any]]:
    """(table, record batch) of the tables named, as the inputs are read. Raises nothing on bad input."""
    captures, guard = dissection.captures, dissection.guard
    numbers = numbers_in_sets(file.capture_set for file in captures.files)
    ordered = OrderedAnalyzer(dissection.analyzer, numbers.__getitem__)
    production = _Production(dissection, ordered, tables, judging or Judging())
    for packets in captures.batches():
        for events in guard.fed(packets, ordered):
            production.take(events)
            yield from production.rows.take()
    ends = ends_of(captures.files)
    for placed in guard.closed(ordered.analyzer, lambda: ordered.close_each(ends)):
        production.take(placed)
        yield from production.rows.take()
    dissection.is_over = True
    yield from production.close()


class _Production:
    """Feeds each event to everything that makes rows of it."""

    def __init__(
        self, dissection: Dissection, ordered: OrderedAnalyzer, tables: frozenset[str], judging: Judging
    ) -> None:
        self._dissection = dissection
        self._ordered = ordered
        self._tables = tables
        self.rows = TableRows(tables)
        self._pieces = SnapshotPieces()
        self._connections = ExchangeTables(dissection.file_names, self.rows, dissection.topics)
        self._wants_connections = not tables.isdisjoint(OF_CONNECTIONS)
        self._wants_bodies = not tables.isdisjoint(OF_JUDGES | OF_STATES)
        self._judge = Judge(*judging) if tables & OF_JUDGES else None
        self._sets: dict[str, CaptureSetStage] = {}

    def take(self, events: PlacedEvents) -> None:
        """Take the next events, but for what raises."""
        note = self._dissection.guard.note
        if not isinstance(events, list):
            take_block(events, self._takers(events), note)
            return
        for placed in events:
            try:
                self._add(placed)
            except Exception as error:
                note(error, placed[1])
        events.clear()  # of a flood they are many, and the next ones are made while these are held

    def _add(self, placed: Placed) -> None:
        order, event = placed
        if isinstance(event, Exchange):
            if self._wants_bodies:
                event.bodies()  # decoded once for all
            if self._wants_connections:
                self._connections.exchange(event, order, self._pieces)
        elif isinstance(event, ConnectionClosed) and self._wants_connections:
            self._connections.connection(event.connection, order)
        if self._tables & OF_STATES and event.connection.same_as is None:
            self._stage_of(event.connection.capture_set).add_kept(event)
        if self._judge is not None:
            self._judge.add(event)
        if isinstance(event, Exchange):
            event.forget_bodies()

    def _takers(self, block: native.ExchangeBlock) -> list[BlockTaker]:
        """Those of `_add`, in its order."""
        found: list[BlockTaker] = []
        ordered, tables, pieces = self._ordered, self._connections, self._pieces
        if self._wants_connections:
            file_number = ordered.file_number(block)

            def count(block: native.ExchangeBlock, start: int) -> int:
                return tables.exchange_block(block, start, file_number)

            def add(event: Exchange, at: int) -> None:
                tables.exchange(event, ordered.order_of(block, at), pieces)

            found.append(BlockTaker(count, add))
        if self._tables & OF_STATES:
            capture_set = self._dissection.captures.files[ordered.file_of(block)].capture_set
            found += self._stage_of(capture_set).takers()
        if self._judge is not None:
            found.append(BlockTaker.of_counted(self._judge.take_block, self._judge.add))
        return found

    def _stage_of(self, capture_set: str) -> CaptureSetStage:
        found = self._sets.get(capture_set)
        if found is None:
            states, names = self._tables & OF_STATES, self._dissection.topics
            found = CaptureSetStage(capture_set, states, names, counts_blocks=True)
            self._sets[capture_set] = found
        return found

    def close(self) -> Iterator[tuple[str, Any]]:
        dissection = self._dissection
        for table, rows in (
            ("files", file_rows(dissection.captures.files, dissection.file_names)),
            ("anomalies", file_anomaly_rows(dissection.captures.files, dissection.file_names)),
            *self._judged(),
        ):
            if table in self._tables:
                for row in rows:
                    self.rows.add(table, row)
        yield from self.rows.close()
        for stage in self._sets.values():
            yield from stage.close()

    def _judged(self) -> Iterator[tuple[str, Any]]:
        if self._judge is None:
            return
        self._judge.finish()
        judgement = Judgement()
        judgement.merge(self._judge)
        yield "findings", finding_rows(judgement, self._dissection.file_names)
        yield "coverage", coverage_rows(judgement)
