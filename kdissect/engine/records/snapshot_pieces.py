"""Joins the pieces of a snapshot that several FetchSnapshot responses bring (KIP-630).

Rules:
- A piece is cut anywhere (`UnalignedRecords`). The bytes after its last whole batch continue in the piece of
  the same connection, partition and snapshot that begins at the position where it ends.
- A repeated piece is joined as it was the first time.
- After a missing piece, reading starts again at the first whole batch with a right checksum.
"""

from typing import NamedTuple

from kdissect.engine.records.record_sets import BEGINNING, UNKNOWN, PieceEnd, RecordSet

# A node fetches one snapshot at a time. Beyond this number in one capture, the snapshot unused for longest is
# dropped.
MAX_SNAPSHOTS = 32
# No batch of a snapshot is larger (org.apache.kafka.raft.KafkaRaftClient#MAX_BATCH_SIZE_BYTES: 8 MiB).
MAX_TAIL = 9 << 20

_Key = tuple[str, str | None, int | None, tuple[int, int] | None]


class _Piece(NamedTuple):
    """The last piece of a snapshot: its position in it, and the incomplete bytes before it and at its end."""

    start: int
    end: int
    before: PieceEnd
    left: PieceEnd


class SnapshotPieces:
    """`join()` the records fields of one analysis in their order."""

    def __init__(self) -> None:
        self._pieces: dict[_Key, _Piece] = {}

    def join(self, records: RecordSet) -> None:
        """Put what the piece before left in front of a piece, if it is one and goes on there."""
        field = records.records_field
        start = field.position
        if start is None:
            return
        key = (
            records.exchange.connection.id,
            field.topic,
            field.partition,
            field.snapshot,
        )
        before = _before(self._pieces.pop(key, None), start)
        records.lead(before)
        end = start + records.end - field.start
        self._pieces[key] = _Piece(start, end, before, records.piece_end())
        if len(self._pieces) > MAX_SNAPSHOTS:
            del self._pieces[next(iter(self._pieces))]


def _before(last: _Piece | None, start: int) -> PieceEnd:
    """Return the incomplete bytes before `start`."""
    if start == 0:
        return BEGINNING
    if last is None or start not in (last.start, last.end):
        return UNKNOWN
    before = last.before if start == last.start else last.left
    return before if len(before.content) <= MAX_TAIL else UNKNOWN
