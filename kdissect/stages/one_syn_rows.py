"""Rows of `connections` of which nothing but one SYN was seen, as columns: a flood has a million of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.half_open import ONE_SYN
from kdissect.session.info import ConnectionInfo
from kdissect.stages.table_rows import DAY_NS, US, batch_of

_VARYING = ("connection", "client", "broker", "capture_set", "start_ns", "event_order")


class OneSynRows:
    """Takes connections, and gives batches of their rows.

    `row_of` gives the row of one: from the first they have what is the same in all of them.
    """

    def __init__(self, row_of: Callable[[ConnectionInfo, bytes], Row]) -> None:
        self._row_of = row_of
        self._first: Any = None
        """The row of the first one, as a batch."""
        self._rows: list[tuple[str, str, str, str, int, bytes, str | None]] = []

    def add(self, info: ConnectionInfo, order: bytes) -> bool:
        """Add the row of a connection; False, and nothing is added, of one of which more was seen."""
        # Hot: a row by itself costs ten times as much.
        if info.tcp is not ONE_SYN or info.names or info.close is None:
            return False
        if self._first is None:
            self._first = batch_of("connections", [self._row_of(info, order)])
        self._rows.append((*info.id_and_ends(), info.capture_set, info.start_ns, order, info.close.how.value))
        return True

    def rows(self, _table: str) -> int:
        """How many rows there are."""
        return len(self._rows)

    def take(self, _table: str) -> Any:
        """The rows as a record batch; there are none then."""
        rows, self._rows = self._rows, []
        *varying, hows = zip(*rows, strict=True)
        columns: dict[str, Sequence[Any]] = dict(zip(_VARYING, varying, strict=True))
        columns["start"] = [start_ns // US for start_ns in columns["start_ns"]]
        columns["day"] = [start_ns // DAY_NS for start_ns in columns["start_ns"]]
        schema = self._first.schema
        arrays = []
        for place, field in enumerate(schema):
            if field.name in columns:
                arrays.append(pa.array(columns[field.name], field.type))
            elif field.name == "closed":
                by, how = pa.nulls(len(rows), pa.string()), pa.array(hows, pa.string())
                arrays.append(pa.StructArray.from_arrays([by, how], fields=list(field.type)))
            else:
                arrays.append(pa.repeat(self._first.column(place)[0], len(rows)))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
