"""What `kdissect segments` lists: batches, records, or the entries of one kind of index."""

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdissect.cli.segment_files import index_suffix
from kdissect.cli.troubles import Troubles
from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.index_file import ENTRY_PLACE
from kdissect.engine.segments.index_kinds import KINDS
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS

if TYPE_CHECKING:
    from kdissect.report.cells import TableColumn

RECORD_COLUMNS = (
    "number", "file", "topic", "partition", "position", "offset", "timestamp", "key", "value", "headers",
    "producer_id", "producer_epoch", "sequence", "codec", "control", "crc_ok",
)  # fmt: skip


class SegmentKind(ABC):
    """A kind of row: its fields, the `columns` shown by TSV and CSV, where the rows come from."""

    fields: tuple[RowField, ...]
    columns: tuple[str, ...]

    @abstractmethod
    def table_columns(self) -> "list[TableColumn]":
        """The columns of the table on a terminal."""

    @abstractmethod
    def rows(self, options: Namespace, troubles: Troubles) -> Iterator[Row]:
        """The rows of all files named."""


class Batches(SegmentKind):
    """The batches of segments and snapshots."""

    fields: tuple[RowField, ...] = SEGMENT_BATCH_FIELDS
    columns: tuple[str, ...] = tuple(field.name for field in SEGMENT_BATCH_FIELDS)

    def table_columns(self) -> "list[TableColumn]":
        """The columns of the table on a terminal."""
        from kdissect.cli.formats.segment_columns import batch_columns

        return batch_columns()

    def rows(self, options: Namespace, troubles: Troubles) -> Iterator[Row]:
        """The rows of all files named."""
        from kdissect.cli.segment_walk import SegmentWalk

        return SegmentWalk(options, troubles).rows()


class Records(Batches):
    """Their records."""

    fields = SEGMENT_RECORD_FIELDS
    columns = RECORD_COLUMNS

    def table_columns(self) -> "list[TableColumn]":
        """The columns of the table on a terminal."""
        from kdissect.cli.formats.segment_columns import record_columns

        return record_columns()


class Entries(SegmentKind):
    """The entries of index files or producer snapshots, of which `suffix` is the ending."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self.fields = KINDS[suffix].fields()
        self.columns = tuple(field.name for field in self.fields)

    def table_columns(self) -> "list[TableColumn]":
        """The columns of the table on a terminal."""
        from kdissect.cli.formats.segment_columns import entry_columns

        return entry_columns([field.name for field in self.fields[len(ENTRY_PLACE) :]])

    def rows(self, options: Namespace, troubles: Troubles) -> Iterator[Row]:
        """The rows of all files named."""
        from kdissect.cli.index_walk import IndexWalk

        return IndexWalk(options, self._suffix, troubles).rows()


def kind_of(options: Namespace) -> SegmentKind:
    """The kind that the paths and `--records` ask for.

    Raises ValueError for files of different kinds: one table has the columns of one.
    """
    found = {index_suffix(path) for path in options.paths}
    if len(found) > 1:
        kinds = ", ".join(sorted(suffix or "segments" for suffix in found))
        raise ValueError(f"files of different kinds: {kinds}. Name one kind, or their folder to check all")
    suffix = found.pop()
    if suffix is None:
        return Records() if options.records else Batches()
    if options.records:
        raise ValueError(f"a {KINDS[suffix].name} has no records")
    return Entries(suffix)
