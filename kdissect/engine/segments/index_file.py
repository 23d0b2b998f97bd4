"""Common parts of the files next to a segment: entries of one size, one after the other. Sans-IO."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from struct import Struct
from typing import Any, ClassVar, NamedTuple

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.model.wording import plural

Values = tuple[Any, ...]

ENTRY_PLACE = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("file", "string", "the file"),
    RowField("topic", "string", "topic by the name of the file's folder, or as `--topic` says"),
    RowField("partition", "int32", "partition by the name of the file's folder"),
    RowField("entry", "int32", "index of the entry in the file"),
)
ENTRY_FAULTS = RowField(
    "faults", "list<string>", "what is wrong with it, in it or compared with the segment next to the file"
)


class IndexEntry(NamedTuple):
    """An entry: its 0-based number, the byte of the file it begins at, its part of a row, what is wrong."""

    number: int
    start: int
    row: Row
    faults: list[str]

    def told(self) -> list[str]:
        """Return the faults, each with the place of the entry."""
        return [f"entry {self.number} at byte {self.start}: {fault}" for fault in self.faults]


class IndexFile(ABC):
    """The content of one such file. Making one raises nothing, whatever the bytes are.

    `base_offset` is the offset in the file's name. `faults` are the faults of the file as a whole.
    """

    name: ClassVar[str]
    """The usual name of such a file."""
    layout: ClassVar[Struct]
    """One entry."""
    own_fields: ClassVar[tuple[RowField, ...]]
    """The fields of a row that only this kind has."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self.data = data
        self.base_offset = base_offset
        self.faults: list[str] = []
        self.start = self._pull_head()
        rest = (len(data) - self.start) % self.layout.size
        self.end = len(data) - rest
        if rest > 0:
            self.faults.append(f"{plural(rest, 'byte')} after the last entry at byte {self.end}")

    @classmethod
    def fields(cls) -> tuple[RowField, ...]:
        """Return the fields of this kind's rows."""
        return (*ENTRY_PLACE, *cls.own_fields, ENTRY_FAULTS)

    def entries(self, places: SegmentPlaces | None) -> Iterator[IndexEntry]:
        """Yield the entries in their order, compared with each other and with the segment, if there
        is one.
        """
        last: Values | None = None
        for number, at in enumerate(range(self.start, self.end, self.layout.size)):
            values = self.layout.unpack_from(self.data, at)
            if self._is_room(number, values):
                return
            yield IndexEntry(number, at, self._row(values), list(self._entry_faults(values, last, places)))
            last = values

    def missing(self, places: SegmentPlaces) -> list[str]:
        """Return the entries that the segment requires and that are missing. Call it after all entries."""
        return []

    def _pull_head(self) -> int:
        """Read the bytes before the entries, and return the position after them."""
        return 0

    def _is_room(self, number: int, values: Values) -> bool:
        """Return whether the file from here on is zeros that were allocated beforehand."""
        return False

    @abstractmethod
    def _row(self, values: Values) -> Row:
        """Return an entry as its part of a row."""

    @abstractmethod
    def _entry_faults(
        self, values: Values, last: Values | None, places: SegmentPlaces | None
    ) -> Iterator[str]:
        """Return the faults of an entry; `last` is the one before."""


class AllocatedIndex(IndexFile):
    """An index that a broker allocates at its full size and cuts when the segment is closed.

    Source: org.apache.kafka.storage.internals.log.AbstractIndex.
    """

    def _is_room(self, number: int, values: Values) -> bool:
        """Return whether an entry is room, that is, zeros.

        A first one may be zeros, if it is alone or others follow it.
        """
        if any(values):
            return False
        return number > 0 or (len(self.data) > self.layout.size and not self.data.strip(b"\0"))
