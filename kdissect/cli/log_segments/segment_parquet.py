"""Rows of segments as a Parquet file. Needs pyarrow (extra `arrow`)."""

from argparse import Namespace
from collections.abc import Iterable
from itertools import islice

import pyarrow.parquet as pq

from kdissect.cli.captures.record_parquet import Sink
from kdissect.cli.output import Output
from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.records.record_schema import schema_of
from kdissect.engine.records.row_tables import arrow_row, in_tables


def write_rows(output: Output, rows: Iterable[Row], fields: tuple[RowField, ...], options: Namespace) -> None:
    """Write all rows, or the first `options.limit`."""
    schema = schema_of(fields, (options.key_format, options.value_format), options.fields)
    chosen = islice(rows, options.limit)
    with pq.ParquetWriter(Sink(output), schema, compression="lz4", store_schema=False) as writer:
        for table in in_tables(map(arrow_row, chosen), schema):
            writer.write_table(table)
