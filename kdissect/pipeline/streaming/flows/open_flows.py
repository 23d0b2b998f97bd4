"""Results of flows that are open, as if the capture ended here.

They do not change until a flow has packets again or its time is up, so that only flows with new packets cost
work (`settled_flows`). Rows are stored as Arrow tables, next to each flow's report to its capture set.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kdissect.engine.exchange_rows import Row
from kdissect.stages.forwarding import ForwardedEvent
from kdissect.stages.rows.table_rows import ConnectionColumns, TableRows

if TYPE_CHECKING:
    from kdissect.pipeline.streaming.flows.flow import Judged, Surroundings
    from kdissect.stages.rows.compiled_rows import CompiledRows
    from kdissect.stages.rows.record_columns import RecordColumns

_FLOW = "_flow"
FlowBatches = list[tuple[str, Any]]
"""Record batches by table, each row with its flow."""


class FlowRows(TableRows):
    """Rows with their flow: `flow` is the flow of the next rows."""

    def __init__(self, tables: Iterable[str]) -> None:
        super().__init__(tables)
        self.flow = b""
        self._flows: dict[str, list[bytes]] = defaultdict(list)

    def keep_in(
        self, compiled: CompiledRows | None, syns: ConnectionColumns, records: RecordColumns | None = None
    ) -> None:
        """Nothing: each row is seen here, with its flow."""

    def add(self, table: str, row: Row, size: int = 0) -> None:
        """Take a row of a table that is wanted."""
        self._flows[table].append(self.flow)
        super().add(table, row, size)

    def with_flows(self) -> Iterator[tuple[str, Any]]:
        """Yield all rows, with a column of flows."""
        for table, batch in self.close():
            flows = self._flows[table]
            yield table, batch.append_column(_FLOW, pa.array(flows[: batch.num_rows], pa.binary()))
            del flows[: batch.num_rows]


class Told(NamedTuple):
    """An open flow's report to its capture set: events, and the judgements of its connections."""

    forwarded: tuple[tuple[str, bytes, bytes], ...]
    judged: tuple[Judged, ...]


class OpenFlows:
    """Rows of flows, and the report of each flow."""

    def __init__(self, batches: FlowBatches, told: Mapping[bytes, Told]) -> None:
        self.batches = batches
        self.told = dict(told)

    @classmethod
    def thawed(cls, data: bytes) -> OpenFlows:
        """Thaw the result of `frozen`, which comes from the checkpoint."""
        batches, told = pickle.loads(data)
        return cls(batches, {flow: Told(*fields) for flow, fields in told.items()})

    def frozen(self) -> bytes:
        """Return the flows as bytes."""
        self.batches = joined(self.batches)
        return pickle.dumps((self.batches, {flow: tuple(told) for flow, told in self.told.items()}))

    def only(self, flows: Collection[bytes]) -> OpenFlows:
        """Return only the results of these flows."""
        return OpenFlows(rows_of(self.batches, flows), {flow: self.told[flow] for flow in flows})

    def take(self, flow: bytes, around: Surroundings) -> None:
        """Take a flow's report from its surroundings, without rows."""
        self.told[flow] = Told(tuple((*row,) for row in around.forwarded), tuple(around.judged))
        around.forwarded, around.judged = [], []

    def forwarded(self) -> list[ForwardedEvent]:
        """Return the events of all flows."""
        return [ForwardedEvent(*row) for told in self.told.values() for row in told.forwarded]

    def judged(self) -> tuple[Judged, ...]:
        """Return connections that are over then."""
        return tuple(one for told in self.told.values() for one in told.judged)


def joined(batches: FlowBatches) -> FlowBatches:
    """Join the batches of each table into one."""
    whole: dict[str, list[Any]] = defaultdict(list)
    for name, rows in batches:
        whole[name].append(rows)
    return [
        (name, batch)
        for name, held in whole.items()
        for batch in pa.Table.from_batches(held).combine_chunks().to_batches()
    ]


def rows_of(batches: FlowBatches, flows: Collection[bytes], others: bool = False) -> FlowBatches:
    """Return the rows of flows, or with `others` the rows of all other flows."""
    wanted = pa.array(list(flows), pa.binary())
    found = []
    for name, rows in batches:
        is_wanted = pc.is_in(rows.column(_FLOW), wanted)
        kept = rows.filter(pc.invert(is_wanted) if others else is_wanted)
        if kept.num_rows:
            found.append((name, kept))
    return found


def without_flows(batches: FlowBatches) -> FlowBatches:
    """Return rows as tables have them."""
    return [(name, rows.drop_columns([_FLOW])) for name, rows in batches]
