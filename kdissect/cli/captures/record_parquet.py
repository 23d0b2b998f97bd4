"""Writes records to a Parquet file. Needs pyarrow (extra `arrow`)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from kdissect.cli.output import Output

# Content hardly repeats: a dictionary costs time and saves nothing, and a reader skips nothing by its bounds.
_CONTENT = frozenset({"key", "value", "headers", "decoded"})
_UNBOUNDED = _CONTENT | {"number", "offset", "raw_offset", "timestamp", "timestamp_ms"}
# These rise in runs: they are written as differences.
_RISING = frozenset(
    {
        "number",
        "offset",
        "raw_offset",
        "timestamp",
        "timestamp_ms",
        "exchange",
        "packet",
        "time",
        "time_ns",
    }
)
# lz4 is the fastest that every reader of Parquet knows, and halves text.
_COMPRESSION = "lz4"


class Sink:
    """The part of a file's interface that the writer needs."""

    closed = False

    def __init__(self, output: Output) -> None:
        self._output = output
        self._written = 0

    def write(self, data: Any) -> int:
        """Pass bytes on."""
        content = bytes(data)
        self._output.write(content)
        self._written += len(content)
        return len(content)

    def tell(self) -> int:
        """Return bytes so far."""
        return self._written

    def flush(self) -> None:
        """Do nothing: the output flushes itself."""

    def close(self) -> None:
        """Note the end: the output closes itself."""
        self.closed = True

    def writable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """No."""
        return False

    def seekable(self) -> bool:
        """No."""
        return False


def write_parquet(output: Output, schema: Any, tables: Iterable[Any], options: Namespace) -> None:
    """Write all rows of `tables`, or the first `options.limit`."""
    writer = _writer()(
        Sink(output),
        schema,
        version="2.6",  # these three are the defaults of pyarrow.parquet
        writer_engine_version="V2",
        data_page_version="1.0",
        store_schema=False,
        compression=_COMPRESSION,
        use_dictionary=[name for name in schema.names if name not in _CONTENT | _RISING],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in schema.names if name in _RISING},
        write_statistics=[name for name in schema.names if name not in _UNBOUNDED],
    )
    try:
        left = options.limit or 1 << 62
        for table in tables:
            writer.write_table(table.slice(0, left))
            left -= table.num_rows
            del table  # its memory is that of the next one
            if left <= 0:
                return
    finally:
        writer.close()


def _writer() -> Any:
    """Return the writer class. The class in pyarrow.parquet has no advantage here, but imports file systems
    and ssl.
    """
    try:
        from pyarrow._parquet import ParquetWriter  # an extra
    except ImportError:
        from pyarrow.parquet import ParquetWriter  # an extra
    return ParquetWriter
