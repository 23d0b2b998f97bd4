"""The Parquet files that one task writes for one table.

Rules:
- Batches wait for a row group of `GROUP_BYTES`: readers skip and decompress by row groups, and small ones
  make small files slow. Larger ones make no smaller files, and take more memory while they wait and while
  they are written.
- `WAITING_BYTES` bounds the waiting batches of a task's tables. The largest table is written first.
- A file that grew to `FILE_BYTES` is closed and another one begun.
- Names contain the attempt: two attempts of one task never write the same file. Only the files reported at
  the end count (`WrittenFile`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.pipeline.table_files.hive_partitions import split

GROUP_BYTES = 6 << 20
WAITING_BYTES = 64 << 20
FILE_BYTES = 256 << 20
# Bytes written between two releases of memory: a row group is much larger than the rows that wait for it, and
# returning its pages and taking them again is system time.
_RELEASE_BYTES = 48 << 20
# Open at a time: each holds the footers of its row groups, and a handle.
_MAX_OPEN = 64


class WrittenFile(NamedTuple):
    """A file that is complete.

    `directory` is that of its partition below its table's, and `path` is below the root. `has_ids` means that
    rows have ids of topics, possibly without their names.
    """

    table: str
    directory: str
    path: str
    rows: int
    bytes: int
    has_ids: bool


class _Part:
    """One partition of one table: what waits for it, and its open file."""

    __slots__ = (
        "batches", "bytes", "directory", "has_ids", "path", "rows", "stream", "table", "writer",
    )  # fmt: skip

    def __init__(self, table: str, directory: str) -> None:
        self.table = table
        self.directory = directory
        self.batches: list[Any] = []
        self.bytes = self.rows = 0
        self.path = ""
        self.has_ids = False
        self.stream: Any = None
        self.writer: Any = None


class ParquetParts:
    """Writer of record batches. `close` returns the files written.

    `root` is a directory of `filesystem` (`pyarrow.fs`). `partition_by` are columns, of which a table uses
    those it has.
    """

    def __init__(self, filesystem: Any, root: str, partition_by: tuple[str, ...], attempt: str) -> None:
        self._filesystem = filesystem
        self._root = root
        self._partition_by = partition_by
        self._attempt = attempt
        self._parts: dict[tuple[str, str], _Part] = {}
        self._waiting = 0
        self._unreleased = 0
        self._count = 0
        self._written: list[WrittenFile] = []

    def add(self, table: str, batch: Any) -> None:
        """Take rows of a table."""
        names = [name for name in self._partition_by if name in batch.schema.names]
        for directory, rows in split(batch, names):
            part = self._parts.get((table, directory))
            if part is None:
                part = self._parts[table, directory] = _Part(table, directory)
            size = rows.nbytes
            part.batches.append(rows)
            part.bytes += size
            self._waiting += size
            if part.bytes >= GROUP_BYTES:
                self._write(part)
        while self._waiting > WAITING_BYTES:
            self._write(max(self._parts.values(), key=lambda part: part.bytes))

    def close(self) -> list[WrittenFile]:
        """Write the waiting batches. Return all files that were written."""
        for part in list(self._parts.values()):
            self._write(part)
            self._finish(part)
        self._parts.clear()
        return self._written

    def _write(self, part: _Part) -> None:
        if not part.batches:
            return
        table = pa.Table.from_batches(part.batches)
        if part.writer is None:
            self._open(part, table.schema)
        part.writer.write_table(table, row_group_size=max(1, table.num_rows))
        part.rows += table.num_rows
        part.has_ids = part.has_ids or has_ids(table)
        self._waiting -= part.bytes
        self._unreleased += part.bytes
        part.batches, part.bytes = [], 0
        del table
        if self._unreleased >= _RELEASE_BYTES:
            pa.default_memory_pool().release_unused()
            self._unreleased = 0
        if part.stream.tell() >= FILE_BYTES:
            self._finish(part)

    def _open(self, part: _Part, schema: Any) -> None:
        opened = [other for other in self._parts.values() if other.writer is not None]
        if len(opened) >= _MAX_OPEN:
            self._finish(max(opened, key=lambda other: other.rows))
        directory = "/".join(filter(None, (part.table, part.directory)))
        self._filesystem.create_dir(f"{self._root}/{directory}", recursive=True)
        part.path = f"{directory}/{self._attempt}-{self._count:04}.parquet"
        self._count += 1
        stream = self._filesystem.open_output_stream(f"{self._root}/{part.path}")
        part.writer = table_writer(stream, schema)
        part.stream = stream
        part.rows = 0
        part.has_ids = False

    def _finish(self, part: _Part) -> None:
        if part.writer is None:
            return
        part.writer.close()
        size = part.stream.tell()
        part.stream.close()
        self._written.append(
            WrittenFile(part.table, part.directory, part.path, part.rows, size, part.has_ids)
        )
        part.writer = None


def parts_in(staging: str, partition_by: tuple[str, ...]) -> ParquetParts:
    """Return a writer for a new attempt, below a directory that a path or URL names."""
    filesystem, root = filesystem_of(staging)
    return ParquetParts(filesystem, root, partition_by, uuid4().hex[:12])


def table_writer(stream: Any, schema: Any) -> Any:
    """Return the writer of a table's rows to a stream.

    Texts repeat and have dictionaries. Numbers and times rise or hardly repeat: they are written as
    differences (DELTA_BINARY_PACKED), and have statistics, by which readers skip row groups.
    """
    columns = list(_columns(schema))
    numbers = [name for name, type_ in columns if _is_number(type_)]
    return pq.ParquetWriter(
        stream,
        schema,
        compression="zstd",
        use_dictionary=[name for name, type_ in columns if pa.types.is_string(type_)],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_statistics=numbers,
    )


def _is_number(type_: Any) -> bool:
    """Return whether Parquet stores a type as an integer."""
    return bool(pa.types.is_integer(type_) or pa.types.is_temporal(type_))


def _columns(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield columns that have values, as Parquet names them, and their types."""
    waiting = [(field.name, field.type) for field in schema]
    while waiting:
        name, type_ = waiting.pop()
        if pa.types.is_struct(type_):
            waiting += [(f"{name}.{field.name}", field.type) for field in type_]
        elif pa.types.is_list(type_):
            waiting.append((f"{name}.list.element", type_.value_type))
        elif pa.types.is_map(type_):
            pair = f"{name}.key_value"
            waiting += [(f"{pair}.key", type_.key_type), (f"{pair}.value", type_.item_type)]
        else:
            yield name, type_


def has_ids(table: Any) -> bool:
    """Return whether rows of a table have ids of topics."""
    if "topic_ids" in table.schema.names:
        # By the ends of the lists: to flatten them loads the library of functions, and that numpy.
        ends = (chunk.offsets for chunk in table.column("topic_ids").chunks if len(chunk))
        return any(end[0] != end[len(end) - 1] for end in ends)
    return "topic_id" in table.schema.names and table.column("topic_id").null_count < table.num_rows
