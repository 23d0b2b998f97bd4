"""The kinds of files beside a segment, by the ending of their names."""

from kdissect.engine.indexes.index_file import IndexFile
from kdissect.engine.indexes.offset_index import OffsetIndex
from kdissect.engine.indexes.producer_snapshot import ProducerSnapshot
from kdissect.engine.indexes.time_index import TimeIndex
from kdissect.engine.indexes.transaction_index import TransactionIndex

SNAPSHOT = ".snapshot"
KINDS: dict[str, type[IndexFile]] = {
    ".index": OffsetIndex,
    ".timeindex": TimeIndex,
    ".txnindex": TransactionIndex,
    SNAPSHOT: ProducerSnapshot,
}
