"""The per-flow stage: events of connections to rows, to forwarded events, and to a judgement.

Flows come one after the other, each with its own events in order. The result does not depend on which of them
come together, or in what order.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kdissect.engine.event_order import Placed
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.model.finding import Who
from kdissect.query.fields.field_table import FIELDS
from kdissect.rules.registry import ALL_RULES, EVERY_RULE
from kdissect.rules.rule import Rule
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import ForwardedEvent, Forwarder
from kdissect.stages.judges import FlowJudge, Judgement
from kdissect.stages.rows.flow_rows import ExchangeTables
from kdissect.stages.rows.table_rows import BATCH_BYTES, BATCH_ROWS, TableRows

# Tables of this stage, and of the per-capture-set stage.
OF_CONNECTIONS = frozenset(
    {"connections", "exchanges", "topic_partitions", "batches", "records", "anomalies", FIELDS}
)  # fmt: skip
OF_JUDGES = frozenset({"findings", "coverage"})
# Made of whole exchanges and connections by who knows causes, one task for each capture set.
OF_CAUSES = frozenset({"causes", "stalls"})
# Made of all records of a capture set, in one task.
OF_PERSONAL = frozenset({"personal"})
OF_STATES = frozenset({"latencies", "rates", "topics", "groups", "producers", "transactions"})
# Input of the per-capture-set stage, as staged tables: `ForwardedEvent` rows, and `Judgement`s, pickled.
FORWARDED, JUDGEMENT = "_relay", "_judgement"


class Judging(NamedTuple):
    """Parameters of judging, from the options of `check`."""

    rules: Sequence[Rule] = ALL_RULES
    who: Who | None = None
    labels: Mapping[str, str] | None = None


EVERY = Judging(EVERY_RULE)
"""Judging with the rules that need the user's schemas."""


class FlowStage:
    """Takes events with `add`; `take` and `close` give (name, record batch) of tables, FORWARDED, JUDGEMENT.

    `files` are the inputs' names by file index. Stages that add rows to one `tables_into` return no rows.
    `with_records`: forwarded events have their records, for rules about keys and values.
    """

    def __init__(
        self,
        files: Sequence[str],
        tables: frozenset[str],
        judging: Judging | None = None,
        tables_into: ExchangeTables | None = None,
        *,
        with_records: bool = False,
    ) -> None:
        self._rows = TableRows(tables & OF_CONNECTIONS if tables_into is None else ())
        self._tables = tables_into or ExchangeTables(files, self._rows)
        self._pieces = SnapshotPieces()
        self._forwarder = Forwarder(with_records) if tables & (OF_JUDGES | OF_STATES) else None
        self._forwarded: list[ForwardedEvent] = []
        self._forwarded_bytes = 0
        self._judge: FlowJudge | None = None
        if tables & OF_JUDGES and self._forwarder is not None:
            self._judge = FlowJudge(self._forwarder.judged, *(judging or Judging()))

    def begin_flow(self) -> None:
        """Begin the events of another flow."""
        self._pieces = SnapshotPieces()
        if self._judge is not None:
            self._judge.begin_flow()

    def add(self, placed: Placed) -> None:
        """Take the next event of the flow."""
        order, event = placed
        if event.connection.same_as is not None:
            self._add_uncounted(placed)
            return
        if isinstance(event, Exchange) and self._judge is not None:
            event.bodies()  # decoded once for rows and rules
        if self._forwarder is not None:
            self._forwarder.add(placed)
        if isinstance(event, Exchange):
            self._tables.exchange(event, order, self._pieces)
        elif isinstance(event, ConnectionClosed):
            self._tables.connection(event.connection, order)
        if self._judge is not None:
            self._judge.add(event)
        elif isinstance(event, Exchange):
            if self._forwarder is not None:
                self._forwarder.judged(event)
            event.forget_bodies()
        self._take_forwarded()

    def _add_uncounted(self, placed: Placed) -> None:
        """Take an event that another capture set counts: it has rows, and may contain names."""
        order, event = placed
        if isinstance(event, Exchange):
            self._tables.exchange(event, order, self._pieces)
            if self._forwarder is not None:
                self._forwarder.add_names(placed)
            event.forget_bodies()
        elif isinstance(event, ConnectionClosed):
            self._tables.connection(event.connection, order)
        self._take_forwarded()

    def _take_forwarded(self) -> None:
        if self._forwarder is not None:
            for row in self._forwarder.take():
                self._forwarded.append(row)
                self._forwarded_bytes += len(row.blob)

    def take(self) -> Iterator[tuple[str, Any]]:
        """Yield the rows collected so far."""
        yield from self._rows.take()
        if len(self._forwarded) >= BATCH_ROWS or self._forwarded_bytes >= BATCH_BYTES:
            yield FORWARDED, forwarded_batch(self._forwarded)
            self._forwarded, self._forwarded_bytes = [], 0

    def take_forwarded(self) -> list[ForwardedEvent]:
        """Return the forwarded events that have come together, as they are."""
        forwarded, self._forwarded, self._forwarded_bytes = self._forwarded, [], 0
        return forwarded

    def judge(self) -> Judgement | None:
        """End all flows and return the judge's result; None without a judge."""
        if self._judge is None:
            return None
        self._judge.finish()
        judgement = Judgement()
        judgement.merge(self._judge)
        return judgement

    def close(self) -> Iterator[tuple[str, Any]]:
        """End all flows: yield the remaining rows, and the judge's result."""
        judgement = self.judge()
        if judgement is not None:
            yield JUDGEMENT, judgement_batch(judgement)
        yield from self._rows.close()
        if self._forwarded:
            yield FORWARDED, forwarded_batch(self._forwarded)
            self._forwarded = []


def forwarded_batch(rows: Sequence[ForwardedEvent]) -> Any:
    """ForwardedEvent events as a record batch."""

    columns = [
        pa.array([row.capture_set for row in rows], pa.string()),
        pa.array([row.event_order for row in rows], pa.binary()),
        pa.array([row.blob for row in rows], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(ForwardedEvent._fields))


def judgement_batch(judgement: Judgement) -> Any:
    """Return a judgement as a record batch of one row."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(judgement)], pa.binary())], names=["blob"])
