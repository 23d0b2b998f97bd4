"""Records that do not go by columns, as Arrow tables: one after the other, by way of rows.

Needs pyarrow (extra `arrow`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kdissect.engine.record_rows import RecordRows, TopicNames
from kdissect.engine.record_sets import RecordSet
from kdissect.engine.rows import Row
from kdissect.model.anomaly import Anomaly

ROWS_AT_ONCE = 20_000  # rows are dicts of 2 KB: 40 MB
_WRAP = 1 << 64


class RowTables:
    """Makes tables of a schema of `arrow_schema`; `report` is told what does not fit."""

    def __init__(
        self,
        schema: Any,
        files: Sequence[str],
        forms: tuple[str | None, str | None],
        report: Callable[[list[Anomaly]], None],
        show_secrets: bool,
        topic_name: TopicNames | None,
    ) -> None:
        self._schema = schema
        self._report = report
        names = ["raw" if form is None else f"{form} only" for form in forms]
        self._rows = RecordRows(files, names[0], names[1], show_secrets, topic_name)
        self._wrapped = [
            field.name for field in schema if field.name in ("offset", "timestamp_ms", "sequence")
        ]

    def tables(self, records: RecordSet) -> Iterator[Any]:
        """The records of one field."""
        anomalies: list[Anomaly] = []
        held: list[Row] = []
        for row in self._rows.rows(records, anomalies):
            held.append(self._arrow_row(row))
            if len(held) == ROWS_AT_ONCE:
                yield self._table(held)
                held = []
        if held:
            yield self._table(held)
        self._report(anomalies)

    def _table(self, rows: list[Row]) -> Any:
        return pa.Table.from_pylist(rows, schema=self._schema)

    def _arrow_row(self, row: Row) -> Row:
        """Times as numbers; integers beyond 64 bits wrap as they do in columns and in Java."""
        row["time"] = row["time_ns"]
        for name in self._wrapped:
            if row[name] is not None:
                row[name] = (row[name] + (_WRAP >> 1)) % _WRAP - (_WRAP >> 1)
        row["timestamp"] = row["timestamp_ms"]
        if "decoded" in row:
            from json import dumps

            row["decoded"] = dumps(row["decoded"], ensure_ascii=False)
        for header in row["headers"]:
            if not isinstance(header["key"], str):
                header["key"] = header["key"].decode("utf-8", "backslashreplace")
        return row
