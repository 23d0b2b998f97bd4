"""Files of a table written again: joined, or without some rows. Readers see either the old files or the new
files.

Rules:
- New files are staged. Under the lock they are moved and named, and the old files are removed. If another
  process changed the tables in between, its change wins: a file that is no longer named is not replaced.
- Rows get the columns of this version. Their order stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.evolution import conform
from kdissect.pipeline.sink.entry import Entry, Swap
from kdissect.pipeline.sink.lock import REWRITING_LOCK, BusyError, locked
from kdissect.pipeline.sink.table_directory import ForeignTablesError, StreamDirectory, rewritten_path
from kdissect.pipeline.table_files.commit import logged_tables
from kdissect.pipeline.table_files.hive_partitions import values_of
from kdissect.pipeline.table_files.manifest_file import ManifestError
from kdissect.pipeline.table_files.small_files import batches_of, write_rows

_RUN = "rewrite-"
_POLL_S = 1.0
Rows = Callable[[Any], Any]
"""From a record batch to one with fewer rows, or other values in them."""


class Rewriting:
    """Rewriting that stages files of tables, then swaps them. Use it in a `with`: files that were not swapped
    are deleted.

    Entering raises BusyError if another rewriting is at work, and ForeignTablesError for Delta tables.
    """

    def __init__(self, directory: StreamDirectory) -> None:
        self.directory = directory
        self.run = f"{_RUN}{uuid4().hex[:12]}"
        self._held = ExitStack()

    def __enter__(self) -> Rewriting:
        directory = self.directory
        if logged_tables(directory.manifest()):
            raise ForeignTablesError("these are Delta tables: use OPTIMIZE and DELETE of Delta Lake")
        busy = "files are being rewritten by somebody else"
        with ExitStack() as held:
            if held.enter_context(locked(directory.filesystem, directory.root, REWRITING_LOCK, busy)):
                directory.sweep(_RUN)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._held:
            self.directory.discard(self.run)

    def write(self, old: Sequence[Entry], rows: Rows | None = None) -> Swap:
        """Stage one file for some of one partition. Raises OSError, also if rows are missing."""
        filesystem, first = self.directory.filesystem, old[0]
        paths = [f"{self.directory.root}/{entry.path}" for entry in old]
        schema = _schema(filesystem, paths, first)
        batches: Iterable[Any] = (conform(batch, schema) for batch in batches_of(filesystem, paths))
        if rows is not None:
            batches = map(rows, batches)
        path = rewritten_path(first.path)
        staged = f"{self.directory.staging_of(self.run)}/{path}"
        filesystem.create_dir(staged.rpartition("/")[0], recursive=True)
        count, size = write_rows(filesystem, staged, schema, batches)
        if rows is None and count != sum(entry.rows for entry in old):
            raise ManifestError(f"{first.path} and the files after it differ from the manifest's row count")
        batch = max((entry.batch for entry in old if entry.batch is not None), default=None)
        return Swap(tuple(old), Entry(first.table, path, count, size, batch, first.part))

    def swap(self, swaps: Sequence[Swap], **facts: Any) -> list[Swap]:
        """Put the staged files in their place, all at once. Return the completed swaps."""
        return self.directory.swap(self.run, swaps, facts)


@contextmanager
def waiting_for(rewriting: Rewriting) -> Iterator[Rewriting]:
    """Enter `rewriting` after waiting for another process."""
    while True:
        with ExitStack() as held:
            try:
                held.enter_context(rewriting)
            except BusyError:
                time.sleep(_POLL_S)
                continue
            yield rewriting
            return


def _schema(filesystem: Any, paths: Sequence[str], entry: Entry) -> Any:
    """Return this version's columns for a partition, or the last file's columns for tables of other
    programs.
    """
    if entry.table not in TABLES:
        return pq.read_schema(paths[-1], filesystem=filesystem)
    told = values_of(entry.directory)
    return pa.schema([field for field in arrow_schema(TABLES[entry.table]) if field.name not in told])
