"""The kinds of files beside a segment, by the ending of their names."""

from kdissect.engine.segments.index_file import IndexFile
from kdissect.engine.segments.offset_index import OffsetIndex
from kdissect.engine.segments.producer_snapshot import ProducerSnapshot
from kdissect.engine.segments.time_index import TimeIndex
from kdissect.engine.segments.transaction_index import TransactionIndex

SNAPSHOT = ".snapshot"
KINDS: dict[str, type[IndexFile]] = {
    ".index": OffsetIndex,
    ".timeindex": TimeIndex,
    ".txnindex": TransactionIndex,
    SNAPSHOT: ProducerSnapshot,
}
