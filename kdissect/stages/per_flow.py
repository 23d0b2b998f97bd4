"""The first stage: the events of connections to rows, to what the second stage needs, and to a judgement.

Flows come one after the other, each with its own events in order; which of them come together, and in what
order, changes nothing in what comes of all of them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kdissect.engine.event_order import Placed
from kdissect.engine.snapshot_pieces import SnapshotPieces
from kdissect.model.finding import Who
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stages.connection_rows import ExchangeTables
from kdissect.stages.forwarding import Relay, Relayed
from kdissect.stages.judges import FirstJudge, Judgement
from kdissect.stages.table_rows import BATCH_BYTES, BATCH_ROWS, TableRows

# Tables of the first stage, and of the second.
OF_CONNECTIONS = frozenset(
    {"connections", "exchanges", "topic_partitions", "batches", "records", "anomalies"}
)  # fmt: skip
OF_JUDGES = frozenset({"findings", "coverage"})
OF_STATES = frozenset({"latencies", "rates", "topics", "groups", "producers", "transactions"})
# What goes to the second stage, beside tables: `Relayed` rows, and `Judgement`s, pickled, one a row.
RELAY, JUDGEMENT = "_relay", "_judgement"


class Judging(NamedTuple):
    """How to judge: as `check` is told by its options."""

    rules: Sequence[Rule] = ALL_RULES
    who: Who | None = None
    labels: Mapping[str, str] | None = None


class FirstStage:
    """Takes events with `add`; `take` and `close` give (name, record batch) of tables, RELAY and JUDGEMENT.

    `files` are the inputs' names by file index. Stages that make rows into one `tables_into` give none of
    them back.
    """

    def __init__(
        self,
        files: Sequence[str],
        tables: frozenset[str],
        judging: Judging | None = None,
        tables_into: ExchangeTables | None = None,
    ) -> None:
        self._rows = TableRows(tables & OF_CONNECTIONS)
        self._tables = tables_into or ExchangeTables(files, self._rows)
        self._pieces = SnapshotPieces()
        self._relay = Relay() if tables & (OF_JUDGES | OF_STATES) else None
        self._relayed: list[Relayed] = []
        self._relayed_bytes = 0
        self._judge: FirstJudge | None = None
        if tables & OF_JUDGES and self._relay is not None:
            self._judge = FirstJudge(self._relay.judged, *(judging or Judging()))

    def begin_flow(self) -> None:
        """The next events are those of another flow."""
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
        if self._relay is not None:
            self._relay.add(placed)
        if isinstance(event, Exchange):
            self._tables.exchange(event, order, self._pieces)
        elif isinstance(event, ConnectionClosed):
            self._tables.connection(event.connection, order)
        if self._judge is not None:
            self._judge.add(event)
        elif isinstance(event, Exchange):
            if self._relay is not None:
                self._relay.judged(event)
            event.forget_bodies()
        self._take_relayed()

    def _add_uncounted(self, placed: Placed) -> None:
        """Take an event that another capture set counts: it has rows, and may tell names."""
        order, event = placed
        if isinstance(event, Exchange):
            self._tables.exchange(event, order, self._pieces)
            if self._relay is not None:
                self._relay.add_names(placed)
            event.forget_bodies()
        elif isinstance(event, ConnectionClosed):
            self._tables.connection(event.connection, order)
        self._take_relayed()

    def _take_relayed(self) -> None:
        if self._relay is not None:
            for row in self._relay.take():
                self._relayed.append(row)
                self._relayed_bytes += len(row.blob)

    def take(self) -> Iterator[tuple[str, Any]]:
        """What has come together."""
        yield from self._rows.take()
        if len(self._relayed) >= BATCH_ROWS or self._relayed_bytes >= BATCH_BYTES:
            yield RELAY, relayed_batch(self._relayed)
            self._relayed, self._relayed_bytes = [], 0

    def take_relayed(self) -> list[Relayed]:
        """The relayed events that have come together, as they are."""
        relayed, self._relayed, self._relayed_bytes = self._relayed, [], 0
        return relayed

    def judge(self) -> Judgement | None:
        """All flows are over: what the judge came to; None where nobody judges."""
        if self._judge is None:
            return None
        self._judge.finish()
        judgement = Judgement()
        judgement.merge(self._judge)
        return judgement

    def close(self) -> Iterator[tuple[str, Any]]:
        """All flows are over: the rest, and what the judge came to."""
        judgement = self.judge()
        if judgement is not None:
            yield JUDGEMENT, judgement_batch(judgement)
        yield from self._rows.close()
        if self._relayed:
            yield RELAY, relayed_batch(self._relayed)
            self._relayed = []


def relayed_batch(rows: Sequence[Relayed]) -> Any:
    """Relayed events as a record batch."""
    import pyarrow as pa

    columns = [
        pa.array([row.capture_set for row in rows], pa.string()),
        pa.array([row.event_order for row in rows], pa.binary()),
        pa.array([row.blob for row in rows], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(Relayed._fields))


def judgement_batch(judgement: Judgement) -> Any:
    """A judgement as a record batch of one row."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(judgement)], pa.binary())], names=["blob"])
