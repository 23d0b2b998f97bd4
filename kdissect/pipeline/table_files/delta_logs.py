"""Logs that make the Parquet files of a run's tables tables of Delta Lake. Needs deltalake (extra `delta`).

A log names files that were written and moved as those of every run. It is the first and only version of its
table: another run replaces the log with the files.

Source: Delta Transaction Log Protocol (github.com/delta-io/delta, PROTOCOL.md), "Add File and Remove File"
and "Partition Value Serialization".
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from kdissect.capture.filesystems import is_url
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.table import Table
from kdissect.pipeline.table_files.hive_partitions import values_of
from kdissect.pipeline.table_files.parquet_parts import WrittenFile

LOG = "_delta_log"
FIRST_VERSION = f"{0:020}.json"
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_UNFIT = re.compile(r"[\x00-\x1f]" if os.sep == "\\" else r"[\\\x00-\x1f]")
# Types of columns whose text in the name of a directory is what Delta Lake has.
_IN_DIRECTORIES = frozenset({"string", "date", "int8", "int16", "int32", "int64", "bool"})


class DeltaLogs:
    """Writer of the logs of `tables`. `place` is their directory: an absolute path or a URL.

    Methods raise OSError.
    """

    def __init__(self, place: str, tables: Iterable[Table], partition_by: tuple[str, ...]) -> None:
        self._place = place.rstrip("/")
        self._tables = {table.name: table for table in tables}
        self._partition_by = partition_by

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return sorted(self._tables)

    def check(self, replaced: Collection[str]) -> None:
        """Check before a run whether the logs can be written. `replaced` are tables whose logs go before."""
        from deltalake import DeltaTable  # an extra

        if is_url(self._place) and "?" in self._place:
            raise OSError("Delta tables need a URL without options: set them in the environment")
        if unquote(self._place) != self._place:
            raise OSError("deltalake reads %XX in a path as a character: use another directory")
        if _UNFIT.search(self._place):
            raise OSError("deltalake reads no path with a backslash or a line break: use another directory")
        with _one_kind_of_error():
            for name in self._tables:
                if DeltaTable.is_deltatable(self._uri(name)) and name not in replaced:
                    raise OSError(f"{name} is a Delta table already, and not of kdissect")

    def write(self, files: Iterable[WrittenFile]) -> None:
        """Write the logs of all tables, which name files that are in their places."""
        from deltalake import Schema  # an extra
        from deltalake.transaction import create_table_with_add_actions

        of_table: dict[str, list[WrittenFile]] = {name: [] for name in self._tables}
        for file in files:
            if file.rows:  # a file without rows is in no partition, and the log has the columns
                of_table[file.table].append(file)
        with _one_kind_of_error():
            for name, table in self._tables.items():
                create_table_with_add_actions(
                    self._uri(name),
                    Schema.from_arrow(arrow_schema(table)),
                    [_added(file, table) for file in of_table[name]],
                    partition_by=[column for column in self._partition_by if table.has(column)],
                    name=name,
                    description=table.doc,
                )

    def _uri(self, table: str) -> str:
        return f"{self._place}/{table}"


def unfit_partitions(tables: Iterable[Table], partition_by: Iterable[str]) -> list[str]:
    """Return columns that cannot be partitions of a Delta table, because their type is not."""
    unfit = {field.name for table in tables for field in table.fields if field.type not in _IN_DIRECTORIES}
    return [name for name in partition_by if name in unfit]


def _added(file: WrittenFile, table: Table) -> Any:
    """Return the action that adds a file to its table."""
    from deltalake.transaction import AddAction  # an extra

    types = {field.name: field.type for field in table.fields}
    values = {
        name: value.lower() if value and types[name] == "bool" else value
        for name, value in values_of(file.directory).items()
    }
    path = PurePosixPath(file.path).relative_to(file.table).as_posix()
    statistics = json.dumps({"numRecords": file.rows})
    return AddAction(path, file.bytes, values, int(time.time() * 1000), True, statistics)


@contextmanager
def _one_kind_of_error() -> Iterator[None]:
    """Raise deltalake's errors as OSError of one line, without colours."""
    from deltalake.exceptions import DeltaError  # an extra

    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        raise OSError(" ".join(_COLOUR.sub("", str(error)).split())) from None
