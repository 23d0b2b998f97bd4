"""The offset index of a segment (`.index`): where in the segment an offset is found.

Format: org.apache.kafka.storage.internals.log.OffsetIndex.
"""

from collections.abc import Iterator
from struct import Struct

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.engine.segments.index_file import AllocatedIndex, Values


class OffsetIndex(AllocatedIndex):
    """Entries: offset, counted from the base offset; position of a batch. Both grow."""

    name = "offset index"
    layout = Struct(">ii")
    own_fields = (
        RowField("offset", "int64", "last offset of what was appended at the position"),
        RowField("position", "int64", "byte of the segment at which a batch begins"),
    )

    def _row(self, values: Values) -> Row:
        return {"offset": self.base_offset + values[0], "position": values[1]}

    def _entry_faults(
        self, values: Values, last: Values | None, places: SegmentPlaces | None
    ) -> Iterator[str]:
        offset, position = self.base_offset + values[0], values[1]
        if values[0] < 0 or position < 0:
            yield f"offset {offset} and position {position} lie before the segment"
        elif last is not None and (values[0] <= last[0] or position <= last[1]):
            yield f"offset {offset} at {position} does not follow {self.base_offset + last[0]} at {last[1]}"
        elif places is not None:
            yield from self._misplaced(offset, position, places)

    def _misplaced(self, offset: int, position: int, places: SegmentPlaces) -> Iterator[str]:
        first = places.first_offset_at(position)
        if first is None:
            yield f"no batch begins at position {position}"
        elif not first <= offset <= places.last_offset:
            yield f"offset {offset} is not in the batches from offset {first} on"
