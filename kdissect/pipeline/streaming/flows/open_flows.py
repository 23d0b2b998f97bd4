"""What comes of flows that are open, as if the capture ended here, from one batch to the next.

It is the same until a flow has packets again or its time is up. So what a batch made of the others is taken
over as it is, and their state is not touched: work is for flows with something new. It is kept as Arrow
tables in a file of the checkpoint, by shard and batch.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kdissect.engine.exchange_rows import Row
from kdissect.stages.per_flow import FORWARDED
from kdissect.stages.rows.table_rows import ConnectionColumns, TableRows

if TYPE_CHECKING:
    from kdissect.pipeline.streaming.flows.flow import Judged, Surroundings
    from kdissect.stages.rows.compiled_rows import CompiledRows

_FLOW, _JUDGED = "_flow", "_judged"
# ForwardedEvent events that become a record batch at a time: about 1 KB each.
_ROWS = 4096


class FlowRows(TableRows):
    """Rows with the flow they are of: `flow` is that of the next ones."""

    def __init__(self, tables: Iterable[str]) -> None:
        super().__init__(tables)
        self.flow = b""
        self._flows: dict[str, list[bytes]] = defaultdict(list)

    def keep_in(self, compiled: CompiledRows | None, syns: ConnectionColumns) -> None:
        """Nothing: each row is seen here, with its flow."""

    def add(self, table: str, row: Row, size: int = 0) -> None:
        """Take a row of a table that is wanted."""
        self._flows[table].append(self.flow)
        super().add(table, row, size)

    def with_flows(self) -> Iterator[tuple[str, Any]]:
        """All rows, with a column of flows."""
        for table, batch in self.close():
            flows = self._flows[table]
            yield table, _with_flows(batch, flows[: batch.num_rows])
            del flows[: batch.num_rows]


class OpenFlows:
    """Record batches by name, of tables and of what is forwarded; each row with its flow."""

    def __init__(self, batches: Iterable[tuple[str, Any]] = ()) -> None:
        self._batches: list[tuple[str, Any]] = list(batches)
        self._forwarded: list[tuple[bytes, tuple[str, bytes, bytes]]] = []
        self._judged: list[tuple[bytes, Judged]] = []

    @classmethod
    def thawed(cls, data: bytes) -> OpenFlows:
        """What `frozen` gave: it comes out of the checkpoint."""
        return cls(pickle.loads(data))

    def without(self, flows: Iterable[bytes]) -> OpenFlows:
        """What is of other flows."""
        gone = pa.array(list(flows), pa.binary())
        kept = (
            (name, rows.filter(pc.invert(pc.is_in(rows.column(_FLOW), gone)))) for name, rows in self._batches
        )
        return OpenFlows((name, rows) for name, rows in kept if rows.num_rows)

    def take(self, flow: bytes, around: Surroundings) -> None:
        """Take what a flow told its surroundings, but for rows."""
        self._forwarded += [(flow, (*row,)) for row in around.forwarded]
        self._judged += [(flow, judged) for judged in around.judged]
        around.forwarded, around.judged = [], []

    def settle(self, rows: FlowRows) -> None:
        """Take the rows of flows; all of them are through."""
        self._batches += rows.with_flows()
        self._batches += _batches_of(FORWARDED, self._forwarded, ("capture_set", "event_order", "blob"))
        self._batches += _batches_of(_JUDGED, self._judged, ("connection", "blob"))
        self._forwarded, self._judged = [], []

    def frozen(self) -> bytes:
        """As bytes: one batch of each name."""
        whole: dict[str, list[Any]] = defaultdict(list)
        for name, rows in self._batches:
            whole[name].append(rows)
        joined = [
            (name, batch)
            for name, batches in whole.items()
            for batch in pa.Table.from_batches(batches).combine_chunks().to_batches()
        ]
        return pickle.dumps(joined)

    def batches(self) -> Iterator[tuple[str, Any]]:
        """Record batches of tables, and of forwarded events."""
        for name, rows in self._batches:
            if name != _JUDGED:
                yield name, rows.drop_columns([_FLOW])

    def judged(self) -> tuple[Judged, ...]:
        """Connections that are over then."""
        found: list[Judged] = []
        for name, rows in self._batches:
            if name == _JUDGED:
                columns = (rows.column(column).to_pylist() for column in ("connection", "blob"))
                found += zip(*columns, strict=True)
        return tuple(found)


def _with_flows(batch: Any, flows: list[bytes]) -> Any:
    return batch.append_column(_FLOW, pa.array(flows, pa.binary()))


def _batches_of(
    name: str, held: list[tuple[bytes, Any]], columns: tuple[str, ...]
) -> Iterator[tuple[str, Any]]:
    for first in range(0, len(held), _ROWS):
        some = held[first : first + _ROWS]
        values = zip(*(fields for _, fields in some), strict=True)
        arrays = [
            pa.array(column, pa.binary() if name in ("event_order", "blob") else pa.string())
            for name, column in zip(columns, values, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
        yield name, _with_flows(batch, [flow for flow, _ in some])
