"""All tables by one process, in one pass: what `kdissect tables` writes, and distributed runs must equal.

Rows come from the events of one analyzer, findings from one judge: nothing here is staged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Protocol

from kdissect.api import Dissection
from kdissect.capture.files import ends_of, numbers_in_sets
from kdissect.engine.event_order import OrderedAnalyzer, Placed, PlacedEvents
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.model.native import native
from kdissect.query.fields.field_table import FIELDS, field_table
from kdissect.rules.judge import Judge
from kdissect.serdes.schemas import Schemas
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker, take_block
from kdissect.stages.judges import Judgement
from kdissect.stages.per_capture_set import CaptureSetStage
from kdissect.stages.per_flow import (
    EVERY,
    OF_CAUSES,
    OF_CONNECTIONS,
    OF_JUDGES,
    OF_PERSONAL,
    OF_STATES,
    Judging,
)
from kdissect.stages.rows.field_rows import FieldRows
from kdissect.stages.rows.file_rows import file_anomaly_rows, file_rows
from kdissect.stages.rows.flow_rows import ExchangeTables
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.rows.table_rows import TableRows


class SetStage(Protocol):
    """Builds a table from the events of one capture set."""

    def add_kept(self, event: Event) -> None:
        """Take the next event, and leave it as it is."""

    def takers(self) -> list[BlockTaker]:
        """Return the takers of a block's exchanges, which replace `add_kept`."""

    def close(self) -> Iterator[tuple[str, Any]]:
        """End the capture set and yield (table, record batch)."""


CauseStages = Callable[[Dissection, str, frozenset[str], Schemas | None], SetStage]
"""Makes the stage for tables of `OF_CAUSES` of a capture set: `causes.cause_stage`, which is above this
package. The schemas decode keys and values."""

_set_of = attrgetter("capture_set")


def produce(
    dissection: Dissection,
    tables: frozenset[str],
    judging: Judging | None = None,
    fields: Sequence[str] = (),
    causes: CauseStages | None = None,
    values: RecordValues | None = None,
) -> Iterator[tuple[str, Any]]:
    """(table, record batch) of the tables named, as the inputs are read. Raises nothing on bad input.

    `fields` are the columns of the table `fields`, `causes` makes the tables of `OF_CAUSES`, `values` decodes
    keys and values in the tables `records` and `personal`, and for the causes and rules about them.
    """
    production = Production(dissection, tables, judging, fields, causes, values)
    yield from production.while_read()
    files, names = dissection.captures.files, dissection.file_names
    made = [("files", file_rows(files, names)), ("anomalies", file_anomaly_rows(files, names))]
    judgement = production.judgement()
    if judgement is not None:
        made += [("findings", finding_rows(judgement, names)), ("coverage", coverage_rows(judgement))]
    for table, found in made:
        if table in tables:
            for row in found:
                production.rows.add(table, row)
    yield from production.rest()


class Production:
    """Feeds each event to everything that makes rows of it."""

    def __init__(
        self,
        dissection: Dissection,
        tables: frozenset[str],
        judging: Judging | None = None,
        fields: Sequence[str] = (),
        causes: CauseStages | None = None,
        values: RecordValues | None = None,
    ) -> None:
        numbers = numbers_in_sets(file.capture_set for file in dissection.captures.files)
        self._dissection = dissection
        dissection.analyzer.identities.by_capture_set = True  # as where a task has one capture set
        self._ordered = OrderedAnalyzer(dissection.analyzer, numbers.__getitem__)
        self._tables = tables
        self._fields: FieldRows | None = None
        if FIELDS in tables:
            self._fields = FieldRows(fields, dissection.file_names, dissection.topics)
        self.rows = TableRows(tables, {FIELDS: field_table(fields)} if FIELDS in tables else {})
        self._pieces = SnapshotPieces()
        self._connections = ExchangeTables(dissection.file_names, self.rows, dissection.topics, values)
        self._wants_connections = not tables.isdisjoint(OF_CONNECTIONS)
        self._wants_bodies = not tables.isdisjoint(OF_JUDGES | OF_STATES | OF_CAUSES | OF_PERSONAL)
        self._judge = self._new_judge(judging, values) if tables & OF_JUDGES else None
        self._sets: dict[str, list[SetStage]] = {}
        self._causes = causes if tables & OF_CAUSES else None
        self._schemas = None if values is None else values.schemas

    def _new_judge(self, judging: Judging | None, values: RecordValues | None) -> Judge:
        schemas = None if values is None else values.schemas
        if schemas is None:
            return Judge(*(judging or Judging()))
        from kdissect.engine.records.value_faults import ValuesBySet  # start-up: of --schemas

        return Judge(*(judging or EVERY), values_of=ValuesBySet(schemas, self._dissection.topics).of)

    def while_read(self) -> Iterator[tuple[str, Any]]:
        """(table, record batch) of connections, as the inputs are read."""
        dissection, ordered = self._dissection, self._ordered
        captures, guard = dissection.captures, dissection.guard
        for packets in captures.batches():
            for events in guard.fed(packets, ordered):
                self.take(events)
                yield from self.rows.take()
        ends = ends_of(captures.files)
        for placed in guard.closed(ordered.analyzer, lambda: ordered.close_each(ends)):
            self.take(placed)
            yield from self.rows.take()
        dissection.is_over = True

    def judgement(self) -> Judgement | None:
        """Return the judge's result after all input, and before `rest`; None without a judge.

        It comes first because `rest` frees memory for the judge's rows.
        """
        judge, self._judge = self._judge, None
        if judge is None:
            return None
        judge.finish()
        judgement = Judgement()
        judgement.merge(judge)
        return judgement

    def rest(self) -> Iterator[tuple[str, Any]]:
        """Yield the remaining rows of the tables of connections, then the tables of facts that span
        connections.
        """
        yield from self.rows.close()
        for stages in self._sets.values():
            for stage in stages:
                yield from stage.close()

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
        events.clear()  # a flood has many, and the next ones are created while these exist

    def _add(self, placed: Placed) -> None:
        order, event = placed
        if isinstance(event, Exchange):
            if self._wants_bodies:
                event.bodies()  # decoded once for all
            if self._wants_connections:
                self._connections.exchange(event, order, self._pieces)
            self._add_fields(event, order)
        elif isinstance(event, ConnectionClosed) and self._wants_connections:
            self._connections.connection(event.connection, order)
        if event.connection.same_as is None:
            for stage in self._stages_of(event.connection.capture_set):
                stage.add_kept(event)
        if self._judge is not None:
            self._judge.add(event)
        if isinstance(event, Exchange):
            event.forget_bodies()

    def _add_fields(self, exchange: Exchange, order: bytes) -> None:
        if self._fields is not None:
            self.rows.add(FIELDS, self._fields.row(exchange, order))

    def _takers(self, block: native.ExchangeBlock) -> list[BlockTaker]:
        """Return the takers that correspond to `_add`, in its order."""
        found: list[BlockTaker] = []
        ordered, tables, pieces = self._ordered, self._connections, self._pieces
        if self._wants_connections:

            def count(block: native.ExchangeBlock, start: int) -> int:
                return tables.exchange_block(block, start, ordered.number_of)

            def add(event: Exchange, at: int) -> None:
                tables.exchange(event, ordered.order_of(block, at), pieces)

            found.append(BlockTaker(count, add))
        if self._fields is not None:
            found.append(
                BlockTaker(
                    lambda _, start: start,
                    lambda event, at: self._add_fields(event, ordered.order_of(block, at)),
                )
            )
        runs_by_set = block.runs_by_set(_set_of)
        for capture_set, runs in runs_by_set:
            takers = [taker for stage in self._stages_of(capture_set) for taker in stage.takers()]
            found += takers if len(runs_by_set) == 1 else [taker.within(runs) for taker in takers]
        if self._judge is not None:
            found.append(BlockTaker.of_counted(self._judge.take_block, self._judge.add))
        return found

    def _stages_of(self, capture_set: str) -> list[SetStage]:
        found = self._sets.get(capture_set)
        if found is None:
            found = self._sets[capture_set] = []
            states = self._tables & OF_STATES
            if states:
                names = self._dissection.topics
                found.append(CaptureSetStage(capture_set, states, names, counts_blocks=True))
            if self._causes is not None:
                of_causes = self._tables & OF_CAUSES
                found.append(self._causes(self._dissection, capture_set, of_causes, self._schemas))
            if self._tables & OF_PERSONAL:
                from kdissect.stages.personal_stage import PersonalStage  # start-up: seldom asked for

                found.append(PersonalStage(capture_set, self._dissection.topics, self._schemas))
        return found
