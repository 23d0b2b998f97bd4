"""Removal of old days: whole partitions go, files without partitions are written again without these days.

The day of a row's own time counts, in UTC: `day` if a table has it, else `time_ns` (anomalies) or
`last_time_ns` (files). Rows without a time stay. Tables without a time stay, too: topics, groups, producers,
transactions and coverage describe the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdissect.pipeline.sink.entry import Entry, Swap
from kdissect.pipeline.sink.rewriting import Rewriting
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.hive_partitions import values_of

DAY = "day"
_TIMES = ("time_ns", "last_time_ns")
_DAY_NS = 86_400_000_000_000
_EPOCH = date(1970, 1, 1)


class Retained(NamedTuple):
    """Removed data: rows, files that were removed as a whole, and files that were written again."""

    rows: int = 0
    files: int = 0
    rewritten: int = 0


def retain(directory: StreamDirectory, before: date) -> Retained:
    """Forget rows of days before one. Raises OSError."""
    with Rewriting(directory) as rewriting:
        made = rewriting.swap(list(_swaps(directory, rewriting, before)))
    rows = sum(swap.old[0].rows - (swap.new.rows if swap.new else 0) for swap in made)
    rewritten = sum(swap.new is not None for swap in made)
    return Retained(rows, len(made) - rewritten, rewritten)


def _swaps(directory: StreamDirectory, rewriting: Rewriting, before: date) -> Iterator[Swap]:
    for entry in directory.entries():
        told = values_of(entry.directory)
        if DAY in told:
            day = told[DAY]
            if day is not None and day < before.isoformat():
                yield Swap((entry,), None)
        elif entry.rows:
            yield from _without_old_rows(directory, rewriting, entry, before)


def _without_old_rows(
    directory: StreamDirectory, rewriting: Rewriting, entry: Entry, before: date
) -> Iterator[Swap]:
    """Yield the file without rows of days before `before`, or no swap if it has no such rows."""

    path = f"{directory.root}/{entry.path}"
    schema = pq.read_schema(path, filesystem=directory.filesystem)
    column = next((name for name in (DAY, *_TIMES) if name in schema.names), None)
    if column is None:
        return
    least: Any = before if column == DAY else (before - _EPOCH).days * _DAY_NS

    def kept(rows: Any) -> Any:
        return pc.fill_null(pc.greater_equal(rows.column(column), least), True)

    table = pq.read_table(path, columns=[column], filesystem=directory.filesystem, partitioning=None)
    count = pc.sum(kept(table)).as_py() or 0
    if count == 0:
        yield Swap((entry,), None)
    elif count < table.num_rows:
        yield rewriting.write([entry], lambda batch: batch.filter(kept(batch)))
