"""Small files of one partition become large ones before they are committed, and get names of topics.

Every reducing task writes to every partition it has rows for: many tasks with few rows make a data lake of
splinters. Rows keep their files' order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.pipeline.spark_tasks import by_tasks
from kdissect.pipeline.table_files.hive_partitions import values_of
from kdissect.pipeline.table_files.parquet_parts import (
    FILE_BYTES,
    GROUP_BYTES,
    WrittenFile,
    table_writer,
)
from kdissect.stages.topic_id_names import WITH_NAMES, Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A file of this size is left alone: to rewrite it costs more than readers gain.
LARGE_BYTES = FILE_BYTES // 2


class Group(NamedTuple):
    """Files of one partition that become one."""

    files: tuple[WrittenFile, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)


def plan(files: Iterable[WrittenFile]) -> tuple[list[WrittenFile], list[Group]]:
    """Return files that stay as they are, and groups of files to write again."""
    stay: list[WrittenFile] = []
    small: dict[tuple[str, str], list[WrittenFile]] = defaultdict(list)
    large: list[Group] = []
    for file in sorted(files):
        if file.bytes < LARGE_BYTES:
            small[file.table, file.directory].append(file)
        elif file.has_ids:
            large.append(Group((file,)))
        else:
            stay.append(file)
    groups = [group for kept in small.values() for group in _groups(kept)]
    is_done = [len(group.files) == 1 and not group.files[0].has_ids for group in groups]
    stay += [group.files[0] for group, done in zip(groups, is_done, strict=True) if done]
    return stay, large + [group for group, done in zip(groups, is_done, strict=True) if not done]


def join(filesystem: Any, root: str, group: Group, names: Names) -> WrittenFile:
    """Write one file with the rows of a group and the names of their topic ids.

    Memory: one row group of each file.
    """

    first = group.files[0]
    path = f"{first.path.removesuffix('.parquet')}-joined.parquet"
    schema = pq.read_schema(f"{root}/{first.path}", filesystem=filesystem)
    found = batches_of(filesystem, [f"{root}/{file.path}" for file in group.files])
    if any(file.has_ids for file in group.files):
        found = (named_rows(batch, first.table, first.directory, names) for batch in found)
    rows, size = write_rows(filesystem, f"{root}/{path}", schema, found)
    return WrittenFile(first.table, first.directory, path, rows, size, False)


def write_rows(filesystem: Any, path: str, schema: Any, batches: Iterable[Any]) -> tuple[int, int]:
    """Write record batches as one file of large row groups. Return (rows, bytes)."""

    rows = 0
    with filesystem.open_output_stream(path) as stream:
        with table_writer(stream, schema) as writer:
            for gathered in _gathered(batches):
                table = pa.Table.from_batches(gathered)
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                rows += table.num_rows
        size = stream.tell()
    return rows, size


def batches_of(filesystem: Any, paths: Iterable[str]) -> Iterator[Any]:
    """Yield the rows of files, one after the other, as record batches."""
    for path in paths:
        with pq.ParquetFile(path, filesystem=filesystem) as opened:
            yield from opened.iter_batches()


def named_rows(batch: Any, table: str, directory: str, names: Names, again: bool = False) -> Any:
    """Return rows with the names of their topic ids. Columns of the directory's name are needed to find them.

    `again`: the rows already have the names that were known before.
    """
    if table not in WITH_NAMES:
        return batch

    schema = batch.schema
    for name, value in values_of(directory).items():
        batch = batch.append_column(name, pa.array([value] * batch.num_rows, pa.string()))
    return names.complete(table, batch, again).select(schema.names)


def _groups(files: Sequence[WrittenFile]) -> Iterator[Group]:
    kept: list[WrittenFile] = []
    size = 0
    for file in files:
        if kept and size + file.bytes > FILE_BYTES:
            yield Group(tuple(kept))
            kept, size = [], 0
        kept.append(file)
        size += file.bytes
    yield Group(tuple(kept))


def _gathered(batches: Iterable[Any]) -> Iterator[list[Any]]:
    kept: list[Any] = []
    size = 0
    for batch in batches:
        kept.append(batch)
        size += batch.nbytes
        if size >= GROUP_BYTES:
            yield kept
            kept, size = [], 0
    if kept:
        yield kept


# pyarrow joins 100 MB of small files in a second: less is not worth a job.
_HERE_BYTES = 64 << 20


class Joining:
    """The function of a task, which takes a group."""

    def __init__(self, staging: str, names: Names) -> None:
        self._staging = staging
        self._names = names

    def __call__(self, group: Group) -> WrittenFile:
        return join(*filesystem_of(self._staging), group, self._names)


def joined(spark: SparkSession, groups: Sequence[Group], staging: str, names: Names) -> list[WrittenFile]:
    """Join groups of files. Return the new files."""
    join_one = Joining(staging, names)
    if sum(group.bytes for group in groups) <= _HERE_BYTES:
        return [join_one(group) for group in groups]
    return by_tasks(spark, join_one, groups)
