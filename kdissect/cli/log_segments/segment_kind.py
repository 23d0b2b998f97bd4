"""Kinds of lists of `kdissect segments`: batches, records, or the entries of one kind of index."""

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdissect.cli.log_segments.file_errors import FileErrors
from kdissect.cli.log_segments.segment_files import index_suffix
from kdissect.cli.log_segments.segment_walk import IndexWalk, SegmentWalk
from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.index_file import ENTRY_PLACE
from kdissect.engine.segments.index_kinds import KINDS
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS
from kdissect.report.cells import Cell, TableColumn, cell
from kdissect.report.columns import records
from kdissect.report.printable import printable

if TYPE_CHECKING:
    from kdissect.report.cells import TableColumn


_RECORD_COLUMNS = (
    "number", "file", "topic", "partition", "position", "offset", "timestamp", "key", "value", "headers",
    "producer_id", "producer_epoch", "sequence", "codec", "control", "crc_ok",
)  # fmt: skip


class SegmentKind(ABC):
    """A kind of row: its fields, the `columns` shown by TSV and CSV, where the rows come from."""

    fields: tuple[RowField, ...]
    columns: tuple[str, ...]

    @abstractmethod
    def table_columns(self) -> "list[TableColumn]":
        """Return the columns of the table on a terminal."""

    @abstractmethod
    def rows(self, options: Namespace, errors: FileErrors) -> Iterator[Row]:
        """Return the rows of all files named."""


class _Batches(SegmentKind):
    """The batches of segments and snapshots."""

    fields: tuple[RowField, ...] = SEGMENT_BATCH_FIELDS
    columns: tuple[str, ...] = tuple(field.name for field in SEGMENT_BATCH_FIELDS)

    def table_columns(self) -> "list[TableColumn]":
        """Return the columns of the table on a terminal."""
        return batch_columns()

    def rows(self, options: Namespace, errors: FileErrors) -> Iterator[Row]:
        """Return the rows of all files named."""
        return SegmentWalk(options, errors).rows()


class _Records(_Batches):
    """Their records."""

    fields = SEGMENT_RECORD_FIELDS
    columns = _RECORD_COLUMNS

    def table_columns(self) -> "list[TableColumn]":
        """Return the columns of the table on a terminal."""
        return record_columns()


class _Entries(SegmentKind):
    """The entries of index files or producer snapshots, of which `suffix` is the ending."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self.fields = KINDS[suffix].fields()
        self.columns = tuple(field.name for field in self.fields)

    def table_columns(self) -> "list[TableColumn]":
        """Return the columns of the table on a terminal."""
        return entry_columns([field.name for field in self.fields[len(ENTRY_PLACE) :]])

    def rows(self, options: Namespace, errors: FileErrors) -> Iterator[Row]:
        """Return the rows of all files named."""
        return IndexWalk(options, self._suffix, errors).rows()


def kind_of(options: Namespace) -> SegmentKind:
    """Return the kind that the paths and `--records` ask for.

    Raises ValueError for files of different kinds: one table has the columns of one.
    """
    found = {index_suffix(path) for path in options.paths}
    if len(found) > 1:
        kinds = ", ".join(sorted(suffix or "segments" for suffix in found))
        raise ValueError(f"files of different kinds: {kinds}. Name one kind, or their folder to check all")
    suffix = found.pop()
    if suffix is None:
        return _Records() if options.records else _Batches()
    if options.records:
        raise ValueError(f"a {KINDS[suffix].name} has no records")
    return _Entries(suffix)


# The columns of segment tables.
def batch_columns() -> list[TableColumn]:
    """Return where a batch is, what it holds, whether it is whole."""
    return [
        TableColumn("file", _file, 8, 1),
        TableColumn("position", lambda row: Cell(str(row["position"]), "dim"), 8, right=True),
        TableColumn("bytes", lambda row: Cell(str(row["bytes"])), 6, 3, right=True),
        TableColumn("offsets", _offsets, 9),
        TableColumn("records", _count, 7, right=True),
        TableColumn("magic", lambda row: Cell(str(row["magic"]), "dim"), 5, 4, right=True),
        TableColumn("codec", lambda row: Cell(row["codec"], "dim"), 6, 2),
        TableColumn("max timestamp (UTC)", _timestamp, 23, 2),
        TableColumn("producer", _producer, 8, 3, right=True),
        TableColumn("kind", _kind, 7, 2),
        TableColumn("state", _state, 7),
    ]


def record_columns() -> list[TableColumn]:
    """Return the columns of records, with the place in the file instead of the exchange."""
    gone = ("#", "time", "direction", "topic", "part")
    place = [
        TableColumn("file", _file, 8, 1),
        TableColumn("position", lambda row: Cell(str(row["position"]), "dim"), 8, 3, right=True),
    ]
    return place + [column for column in records.record_columns() if column.title not in gone]


def entry_columns(names: list[str]) -> list[TableColumn]:
    """Return the columns of indexes and producer snapshots: all fields but `faults` as they are."""
    file = TableColumn("file", _file, 8, 1)
    entry = TableColumn("entry", lambda row: Cell(str(row["entry"]), "dim"), 5, 3, right=True)
    own = [_entry_column(name) for name in names if name not in ("faults", *_TEXT_TIMES)]
    return [file, entry, *own, TableColumn("state", _entry_state, 7)]


_TEXT_TIMES = ("timestamp", "last_timestamp")  # the table shows them, but not their milliseconds


def _entry_column(name: str) -> TableColumn:
    text = name.removesuffix("_ms")
    if text in _TEXT_TIMES:
        return TableColumn(
            text.replace("_", " "), lambda row: Cell((row[text] or "")[:23].replace("T", " "), "dim"), 23
        )
    return TableColumn(name.replace("_", " "), lambda row: Cell(cell(row[name])), len(name), right=True)


def _entry_state(row: Row) -> Cell:
    faults = row["faults"]
    return Cell(printable("; ".join(faults)), "bad") if faults else Cell("ok", "good")


def _file(row: Row) -> Cell:
    parts = row["file"].replace("\\", "/").split("/")
    return Cell(printable("/".join(parts[-2:])))


def _offsets(row: Row) -> Cell:
    first, last = row["base_offset"], row["last_offset"]
    return Cell(str(first) if first == last else f"{first} to {last}")


def _count(row: Row) -> Cell:
    count, read = row["count"], row["records"]
    return Cell(str(read)) if count in (read, None) else Cell(f"{read} of {count}", "bad")


def _timestamp(row: Row) -> Cell:
    return Cell((row["max_timestamp"] or "")[:23].replace("T", " "), "dim")


def _producer(row: Row) -> Cell:
    if row["producer_id"] is None:
        return Cell("")
    return Cell(f"{row['producer_id']}:{row['producer_epoch']}/{cell(row['base_sequence'])}", "dim")


def _kind(row: Row) -> Cell:
    kinds = [name for name in ("transactional", "control") if row[name]]
    return Cell(", ".join(kinds), "name")


def _state(row: Row) -> Cell:
    faults = ([] if row["crc_ok"] else ["bad CRC"]) + row["faults"]
    return Cell(printable("; ".join(faults)), "bad") if faults else Cell("ok", "good")
