"""Records that do not go by columns, as Arrow tables: one after the other, by way of rows.

Needs pyarrow (extra `arrow`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_rows import RecordRows, TopicNames
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.anomaly import Anomaly

ROWS_AT_ONCE = 20_000  # rows are dicts of 2 KB: 40 MB
_WRAP = 1 << 64
_MAY_PASS_64_BITS = ("offset", "last_offset", "timestamp_ms")
_TIMES = (
    ("time", "time_ns"),
    *((name, f"{name}_ms") for name in ("timestamp", "max_timestamp", "last_timestamp")),
)


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

    def tables(self, records: RecordSet) -> Iterator[Any]:
        """The records of one field."""
        anomalies: list[Anomaly] = []
        held: list[Row] = []
        for row in self._rows.rows(records, anomalies):
            held.append(arrow_row(row))
            if len(held) == ROWS_AT_ONCE:
                yield self._table(held)
                held = []
        if held:
            yield self._table(held)
        self._report(anomalies)

    def _table(self, rows: list[Row]) -> Any:
        return pa.Table.from_pylist(rows, schema=self._schema)


def arrow_row(row: Row) -> Row:
    """Times as numbers, what an own record holds as JSON.

    Integers beyond 64 bits wrap as they do in columns and in Java.
    """
    for name in _MAY_PASS_64_BITS:
        value = row.get(name)
        if value is not None:
            row[name] = (value + (_WRAP >> 1)) % _WRAP - (_WRAP >> 1)
    for name, number in _TIMES:
        if name in row:
            row[name] = row[number]
    if "decoded" in row:
        from json import dumps

        row["decoded"] = dumps(row["decoded"], ensure_ascii=False)
    for header in row.get("headers") or ():
        if not isinstance(header["key"], str):
            header["key"] = header["key"].decode("utf-8", "backslashreplace")
    return row
