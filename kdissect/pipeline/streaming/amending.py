"""Rows that were committed and say less than is known by now: the connection that counts, names of topics.

The files that hold them are written again, in the order they have, and take their places with the commit of
the batch that knows better. Only files are read whose batch is not before the first such row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdissect.pipeline.sink.entry import Entry, Swap
from kdissect.pipeline.sink.rewriting import Rewriting
from kdissect.pipeline.table_files.hive_partitions import values_of
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.pipeline.table_files.small_files import batches_of, named_rows, write_rows
from kdissect.stages.topic_id_names import WITH_NAMES, Names

_WITH_MARKS = frozenset({"connections", "exchanges"})


class Amendment(NamedTuple):
    """Facts that change rows of earlier batches. `roots` maps connections to the connections that count
    instead, None: themselves. `ids` are topic ids, as rows have them, whose names are known now. Rows of
    batches before `since` are right.
    """

    since: int
    roots: Mapping[str, str | None]
    ids: Collection[str]
    names: Names


def amended(rewriting: Rewriting, entries: Iterable[Entry], amendment: Amendment) -> Iterator[Swap]:
    """Stage replacements of the files that have rows to amend. Raises OSError."""
    for entry in entries:
        if entry.batch is None or entry.batch < amendment.since:
            continue
        path = f"{rewriting.directory.root}/{entry.path}"
        marks, names = _concerns(rewriting.directory.filesystem, path, entry.table, amendment)
        if marks or names:
            change = _Change(entry, amendment, marks, names)
            yield rewriting.write([entry], change.rows)


class _Change(NamedTuple):
    entry: Entry
    amendment: Amendment
    marks: bool
    names: bool

    def rows(self, batch: Any) -> Any:
        """Return a record batch with the facts that are known now."""
        if self.marks:
            batch = marked(batch, self.amendment.roots)
        if self.names:
            batch = named_rows(batch, self.entry.table, self.entry.directory, self.amendment.names, True)
        return batch


def _concerns(filesystem: Any, path: str, table: str, amendment: Amendment) -> tuple[bool, bool]:
    """Return whether a file has connections with a changed mark, and whether it has ids with a new name."""
    marks = table in _WITH_MARKS and _has(filesystem, path, "connection", amendment.roots)
    column = "topic_ids" if table == "exchanges" else "topic_id"
    names = table in WITH_NAMES and _has(filesystem, path, column, amendment.ids)
    return marks, names


def _has(filesystem: Any, path: str, column: str, wanted: Collection[str]) -> bool:
    if not wanted:
        return False

    found = pq.read_table(path, columns=[column], filesystem=filesystem, partitioning=None).column(0)
    if pa.types.is_list(found.type):
        found = pc.list_flatten(found)
    return bool(pc.any(pc.is_in(found, value_set=pa.array(list(wanted), pa.string()))).as_py())


def marked(batch: Any, roots: Mapping[str, str | None]) -> Any:
    """Return rows with the connections that count instead of theirs."""

    place = batch.schema.get_field_index("same_as")
    connections = batch.column("connection").to_pylist()
    known = batch.column("same_as").to_pylist()
    values = [roots.get(name, mark) for name, mark in zip(connections, known, strict=True)]
    return batch.set_column(place, batch.schema.field(place), pa.array(values, pa.string()))


def marked_files(
    filesystem: Any, root: str, files: Iterable[WrittenFile], roots: Mapping[str, str | None]
) -> list[WrittenFile]:
    """Write staged files with uncounted connections again. Return all files."""

    found = []
    for file in files:
        path = f"{root}/{file.path}"
        if file.table in _WITH_MARKS and _has(filesystem, path, "connection", roots):
            changed = f"{file.path.removesuffix('.parquet')}-marked.parquet"
            schema = pq.read_schema(path, filesystem=filesystem)
            batches = (marked(batch, roots) for batch in batches_of(filesystem, [path]))
            rows, size = write_rows(filesystem, f"{root}/{changed}", schema, batches)
            found.append(file._replace(path=changed, rows=rows, bytes=size))
        else:
            found.append(file)
    return found


TopicRow = tuple[str, str, str]
"""Capture set, broker and topic id, as rows have them."""
Unnamed = dict[TopicRow, int]
"""With the first batch that has rows of it."""
# Topic ids without names, some 200 bytes each. A cluster has fewer topics. Ids beyond the bound stay without
# later names.
_MAX_UNNAMED = 100_000
_COLUMNS = ("capture_set", "broker")


def unnamed_in(filesystem: Any, root: str, files: Iterable[WrittenFile], names: Names) -> set[TopicRow]:
    """Return the ids in staged files that have no name."""
    found: set[TopicRow] = set()
    for file in files:
        if file.table in WITH_NAMES and file.has_ids:
            found |= _places(filesystem, f"{root}/{file.path}", file)
    return {place for place in found if names.name(*place) is None}


def named_now(unnamed: Unnamed, names: Names) -> Unnamed:
    """Return the ids whose names are known now."""
    return {place: since for place, since in unnamed.items() if names.name(*place) is not None}


def with_more(unnamed: Unnamed, found: Iterable[TopicRow], batch: int) -> Unnamed:
    """Return the known ids and the batch's ids."""
    more = dict(unnamed)
    for place in found:
        if len(more) >= _MAX_UNNAMED:
            break
        more.setdefault(place, batch)
    return more


def _places(filesystem: Any, path: str, file: WrittenFile) -> set[TopicRow]:
    """Return the topic ids of a file, each once."""

    told = values_of(file.directory)
    column = "topic_ids" if file.table == "exchanges" else "topic_id"
    wanted = [name for name in (*_COLUMNS, column) if name not in told]
    table = pq.read_table(path, columns=wanted, filesystem=filesystem, partitioning=None).select(wanted)
    if column == "topic_ids":
        parents = pc.list_parent_indices(table.column(column).combine_chunks())
        ids = pc.list_flatten(table.column(column).combine_chunks())
        table = table.drop_columns([column]).take(parents).append_column("topic_id", ids)
    for name in _COLUMNS:
        if name in told:
            table = table.append_column(name, pa.array([told[name]] * table.num_rows, pa.string()))
    table = table.filter(pc.is_valid(table.column("topic_id")))
    columns = ["capture_set", "broker", "topic_id"]
    rows = table.group_by(columns).aggregate([]).select(columns).to_pylist()
    return {(row["capture_set"], row["broker"], row["topic_id"]) for row in rows}
