"""Cuts one direction's stream into TLS records (RFC 8446 section 5.1), keeping which packet brought what."""

from enum import IntEnum
from typing import NamedTuple

HEADER = 5  # type, version, length
# A record's content is at most 2^14 bytes. Protection adds up to 2048 in TLS 1.2 (RFC 5246 section 6.2.3).
MAX_RECORD = (1 << 14) + 2048
_MAJOR = 3  # of every version from SSL 3.0 to TLS 1.3


class ContentType(IntEnum):
    """RFC 8446 appendix B.1."""

    CHANGE_CIPHER_SPEC = 20
    ALERT = 21
    HANDSHAKE = 22
    APPLICATION_DATA = 23


class Piece(NamedTuple):
    """Bytes of a record that one packet brought."""

    length: int
    ref: int
    time_ns: int


class Record(NamedTuple):
    """A record as it was sent. `pieces` cover header and body."""

    kind: int
    header: bytes
    body: bytes
    pieces: tuple[Piece, ...]


def is_header(data: bytes, at: int) -> bool:
    """Return whether a record may begin at an offset: of type 20 to 23, version 3.x, with a possible
    length.
    """
    if len(data) - at < HEADER:
        return False
    length = int.from_bytes(data[at + 3 : at + 5])
    return 20 <= data[at] <= 23 and data[at + 1] == _MAJOR and data[at + 2] <= 4 and 0 < length <= MAX_RECORD


class RecordCutter:
    """Cutter of records. `feed()` takes bytes in order and returns the records they complete. `is_lost`: the
    next bytes are no record.
    """

    __slots__ = ("_held", "_pieces", "is_lost")

    def __init__(self) -> None:
        self._held = b""
        self._pieces: list[Piece] = []
        self.is_lost = False

    def take_held(self) -> bytes:
        """Return and drop the record that is not whole. The next bytes begin another one."""
        held, self._held = self._held, b""
        self._pieces = []
        self.is_lost = False
        return held

    def feed(self, payload: bytes, ref: int, time_ns: int) -> list[Record]:
        """Return the records that end in these bytes."""
        if self.is_lost:
            return []
        data = self._held + payload if self._held else payload
        self._pieces.append(Piece(len(payload), ref, time_ns))
        records: list[Record] = []
        at, end = 0, len(data)
        while end - at >= HEADER:
            if not is_header(data, at):
                self.is_lost = True
                break
            stop = at + HEADER + int.from_bytes(data[at + 3 : at + 5])
            if stop > end:
                break
            body = data[at + HEADER : stop]
            records.append(Record(data[at], data[at : at + HEADER], body, self._pull_pieces(stop - at)))
            at = stop
        self._held = data[at:]
        return records

    def _pull_pieces(self, length: int) -> tuple[Piece, ...]:
        pulled: list[Piece] = []
        while length:
            piece = self._pieces[0]
            if piece.length > length:
                self._pieces[0] = piece._replace(length=piece.length - length)
                piece = piece._replace(length=length)
            else:
                self._pieces.pop(0)
            pulled.append(piece)
            length -= piece.length
        return tuple(pulled)
