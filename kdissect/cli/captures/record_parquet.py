"""Writes records to a Parquet file. Needs numpy and pyarrow (extra `arrow`)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kdissect.cli.output import Output
from kdissect.engine.record_tables import RecordTables
from kdissect.engine.records.compiled_tables import CompiledTables
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import is_compiled

Tables = RecordTables | CompiledTables
"""Records as Arrow tables, made from the fields they are given to hold."""

# Content that hardly repeats: a dictionary costs time and saves nothing.
_PLAIN = frozenset({"key", "value", "offset", "timestamp", "timestamp_ms", "number", "headers", "decoded"})
# lz4 is the fastest that every reader of Parquet knows, and halves text.
_COMPRESSION = "lz4"


class Sink:
    """What the writer needs of a file."""

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
        """Bytes so far."""
        return self._written

    def flush(self) -> None:
        """The output flushes itself."""

    def close(self) -> None:
        """The output closes itself."""
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


def tables_of(
    files: Sequence[str],
    options: Namespace,
    report: Callable[[list[Anomaly]], None],
    topic_name: Callable[[RecordSet], str | None],
) -> Tables:
    """What makes tables of records; `files` are the inputs' names, `report` gets what is wrong in batches."""
    if is_compiled and not (options.fields or options.key_format or options.value_format):
        return CompiledTables(files, report, options.show_secrets, topic_name)
    forms = options.key_format, options.value_format
    return RecordTables(files, forms, report, options.show_secrets, topic_name, options.fields)


def write_parquet(output: Output, tables: Tables, full: Iterable[None], options: Namespace) -> None:
    """Write the records of all fields that `tables` are given to hold, or the first `options.limit`.

    `full` says each time that they hold enough.
    """
    schema = tables.schema
    dictionary = [name for name in schema.names if name not in _PLAIN]
    writer = _writer()(
        Sink(output),
        schema,
        version="2.6",  # these three are the defaults of pyarrow.parquet
        writer_engine_version="V2",
        data_page_version="1.0",
        store_schema=False,  # it would say that bytes are views, which older readers do not know
        compression=_COMPRESSION,
        use_dictionary=dictionary,
        write_statistics=dictionary,
    )
    try:
        left = options.limit or 1 << 62
        for table in _tables(tables, full):
            writer.write_table(table.slice(0, left))
            left -= table.num_rows
            if left <= 0:
                return
    finally:
        writer.close()


def _writer() -> Any:
    """The class that writes; that of pyarrow.parquet does no more here, but imports file systems and ssl."""
    try:
        from pyarrow._parquet import ParquetWriter
    except ImportError:
        from pyarrow.parquet import ParquetWriter
    return ParquetWriter


def _tables(tables: Tables, full: Iterable[None]) -> Iterable[Any]:
    for _ in full:
        yield from tables.close()
    yield from tables.close()
