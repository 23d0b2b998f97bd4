"""The transaction index of a segment (`.txnindex`): the aborted transactions whose markers are in it.

Format: org.apache.kafka.storage.internals.log.AbortedTxn, sanity: TransactionIndex.
"""

from collections.abc import Iterator
from struct import Struct

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.batch_positions import MAX_ABORTED, SegmentPlaces
from kdissect.engine.segments.index_file import IndexFile, Values

VERSION = 0  # AbortedTxn#CURRENT_VERSION


class TransactionIndex(IndexFile):
    """Entries: version, producer id, first and last offset, last stable offset when it was aborted."""

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
        """Aborted transactions that stand in the segment with their beginning known: readers of committed
        records would be given theirs.
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
        if version != VERSION:
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
            yield f"no abort marker of producer {producer} stands at offset {marker}"
        elif aborted.first_offset not in (None, first):
            yield f"the transaction began at offset {aborted.first_offset}, not at {first}"
