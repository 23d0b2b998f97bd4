"""The kinds of files next to a segment, by the ending of their names."""

from collections.abc import Iterator
from struct import Struct

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.batch_positions import MAX_ABORTED, SegmentPlaces
from kdissect.engine.segments.index_file import AllocatedIndex, IndexFile, Values
from kdissect.engine.segments.producer_snapshot import ProducerSnapshot
from kdissect.engine.times import millis_text

_ABORTED_VERSION = 0  # AbortedTxn#CURRENT_VERSION


class OffsetIndex(AllocatedIndex):
    """Where in the segment an offset is found (org.apache.kafka.storage.internals.log.OffsetIndex).

    Entries: offset, counted from the base offset, and position of a batch. Both grow.
    """

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


class TimeIndex(AllocatedIndex):
    """Offsets up to which no record is newer than a time (org.apache.kafka.storage.internals.log.TimeIndex).

    Entries: timestamp in milliseconds, and offset, counted from the base offset, of the batch that has it.
    """

    name = "time index"
    layout = Struct(">qi")
    own_fields = (
        RowField("timestamp", "string", "largest timestamp of the segment so far, RFC 3339"),
        RowField("timestamp_ms", "int64", "this time in milliseconds since 1970 UTC"),
        RowField("offset", "int64", "offset of a record with that timestamp in the batch"),
    )

    def _row(self, values: Values) -> Row:
        offset = self.base_offset + values[1]
        return {"timestamp": millis_text(values[0]), "timestamp_ms": values[0], "offset": offset}

    def _entry_faults(
        self, values: Values, last: Values | None, places: SegmentPlaces | None
    ) -> Iterator[str]:
        timestamp, offset = values[0], self.base_offset + values[1]
        if last is not None and (timestamp <= last[0] or values[1] < last[1]):
            before = f"{last[0]} for {self.base_offset + last[1]}"
            yield f"timestamp {timestamp} for offset {offset} does not follow {before}"
        elif places is not None:
            yield from self._misplaced(timestamp, offset, places)

    def _misplaced(self, timestamp: int, offset: int, places: SegmentPlaces) -> Iterator[str]:
        if not places.base_offset <= offset <= places.last_offset:
            yield f"offset {offset} is not in the segment"
            return
        found = places.timestamp_of(offset)
        if found is not None and found != timestamp:
            yield f"timestamp {timestamp}: the largest of the batch with offset {offset} is {found}"


class TransactionIndex(IndexFile):
    """The aborted transactions whose markers are in the segment.

    Entries: version, producer id, first and last offset, last stable offset when it was aborted. Format:
    org.apache.kafka.storage.internals.log.AbortedTxn, sanity: TransactionIndex.
    """

    name = "transaction index"
    layout = Struct(">hqqqq")
    own_fields = (
        RowField("version", "int16", "version of the entry: 0"),
        RowField("producer_id", "int64", "the producer whose transaction was aborted"),
        RowField("first_offset", "int64", "offset of the transaction's first record"),
        RowField("last_offset", "int64", "offset of its abort marker"),
        RowField("last_stable_offset", "int64", "the last stable offset behind the marker"),
    )

    def missing(self, places: SegmentPlaces) -> list[str]:
        """Return the aborted transactions in the segment with a known beginning: readers of committed records
        would receive their records.
        """
        markers = {values[3] for values in self.layout.iter_unpack(self.data[: self.end])}
        return [
            f"no entry for the transaction of producer {aborted.producer_id} aborted at offset {marker}"
            for marker, aborted in places.aborted.items()
            if aborted.first_offset is not None and marker not in markers
        ]

    def _row(self, values: Values) -> Row:
        return {field.name: value for field, value in zip(self.own_fields, values, strict=True)}

    def _entry_faults(
        self, values: Values, last: Values | None, places: SegmentPlaces | None
    ) -> Iterator[str]:
        version, producer, first, marker, stable = values
        if version != _ABORTED_VERSION:
            yield f"there is no version {version}"
            return
        if last is not None and marker <= last[3]:
            yield f"last offset {marker} does not follow {last[3]}"
        if not 0 <= first < marker or stable > marker + 1:
            yield f"offsets {first} to {marker}, last stable offset {stable}: out of order"
        elif marker < self.base_offset:
            yield f"last offset {marker} lies before the segment"
        elif places is not None:
            yield from self._misplaced(producer, first, marker, places)

    def _misplaced(self, producer: int, first: int, marker: int, places: SegmentPlaces) -> Iterator[str]:
        aborted = places.aborted.get(marker)
        if aborted is None and len(places.aborted) >= MAX_ABORTED:
            return
        if aborted is None or aborted.producer_id != producer:
            yield f"no abort marker of producer {producer} is at offset {marker}"
        elif aborted.first_offset not in (None, first):
            yield f"the transaction began at offset {aborted.first_offset}, not at {first}"


SNAPSHOT = ".snapshot"
KINDS: dict[str, type[IndexFile]] = {
    ".index": OffsetIndex,
    ".timeindex": TimeIndex,
    ".txnindex": TransactionIndex,
    SNAPSHOT: ProducerSnapshot,
}
