"""Rows of segments as a Parquet file. Needs pyarrow (extra `arrow`)."""

from argparse import Namespace
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.cli.output import Output
from kdissect.cli.parquet import Sink
from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.records.record_schema import schema_of
from kdissect.engine.records.row_tables import ROWS_AT_ONCE, arrow_row


def write_rows(output: Output, rows: Iterable[Row], fields: tuple[RowField, ...], options: Namespace) -> None:
    """Write all rows, or the first `options.limit`."""
    schema = schema_of(fields, (options.key_format, options.value_format), options.fields)
    chosen = islice(rows, options.limit)
    with pq.ParquetWriter(Sink(output), schema, compression="lz4", store_schema=False) as writer:
        while held := list(islice(chosen, ROWS_AT_ONCE)):
            writer.write_table(_table(held, schema))


def _table(rows: list[Row], schema: Any) -> Any:
    return pa.Table.from_pylist([arrow_row(row) for row in rows], schema=schema)
