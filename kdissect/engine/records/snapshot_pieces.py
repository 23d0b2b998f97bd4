"""Joins the pieces of a snapshot that several FetchSnapshot responses bring (KIP-630).

Rules:
- A piece is cut anywhere (`UnalignedRecords`). What is left of it behind its last whole batch goes on in the
  piece of the same connection, partition and snapshot that begins at the position where it ends.
- A piece that was asked for again is joined as it was the first time.
- Where a piece is missing, reading starts anew at the first whole batch: where a checksum is right.
"""

from typing import NamedTuple

from kdissect.engine.records.record_sets import BEGINNING, UNKNOWN, PieceEnd, RecordSet

# A node fetches one snapshot at a time; of more on one capture the one unused for longest is given up.
MAX_SNAPSHOTS = 32
# No batch of a snapshot is larger (org.apache.kafka.raft.KafkaRaftClient#MAX_BATCH_SIZE_BYTES: 8 MiB).
MAX_TAIL = 9 << 20

_Key = tuple[str, str | None, int | None, tuple[int, int] | None]


class _Piece(NamedTuple):
    """The last piece of a snapshot: where it stands in it, and what was left before and at its end."""

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
    """Return what was left before `start`."""
    if start == 0:
        return BEGINNING
    if last is None or start not in (last.start, last.end):
        return UNKNOWN
    before = last.before if start == last.start else last.left
    return before if len(before.content) <= MAX_TAIL else UNKNOWN
