"""One direction of a TLS connection: a `StreamSink` of ciphertext that hands records to its connection."""

from collections import deque
from typing import Protocol

from kdissect.model.packets.stream import UNKNOWN_LENGTH, CloseKind, Filling, Hole, Part, StreamSink
from kdissect.tls.handshake_messages import MessageCutter
from kdissect.tls.protection import Plain, Protection
from kdissect.tls.tls_info import HOLE, NO_RECORD
from kdissect.tls.tls_record import HEADER, Record, RecordCutter, is_header

# Bytes searched for a record before the search of the direction ends.
_SEARCHED_BYTES = 1 << 20
# Numbers tried for one position, and so the number of records that may be lost at once: 64 MB of full
# records.
MAX_LOST_RECORDS = 4096
_MAX_TRIALS = 1 << 16  # in one hole, about 2 us each for small records


# Finds the next record of one direction after bytes that were not captured.
#
# A record is found when it opens: with the number it would have after some number of lost records. For AEAD
# suites the lost plaintext can be counted then, to the byte. Readers of it keep their position.
class Recovery:
    """A search. `lost` counts bytes that are missing or passed over."""

    def __init__(self, lost: int) -> None:
        self._lost = lost
        self._chunks: list[tuple[bytes, int, int]] = []
        self._data = b""
        self._at = 0
        self._trials = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether too much was searched."""
        return self._trials >= _MAX_TRIALS or self._at >= _SEARCHED_BYTES

    def widen(self, length: int) -> None:
        """Add missing bytes, and drop the bytes collected before them."""
        self._lost += len(self._data) + length
        self._chunks, self._data, self._at = [], b"", 0

    def feed(self, payload: bytes, ref: int, time_ns: int, protection: Protection) -> int | None:
        """Search with the next bytes. Return the length of the lost plaintext once a record is found, else
        None.

        The length is `UNKNOWN_LENGTH` if it cannot be determined. `protection` counts on from the record
        found, and `chunks` returns the bytes from it on.
        """
        self._chunks.append((payload, ref, time_ns))
        self._data += payload
        data = self._data
        while self._at < len(data) and not self.is_hopeless:
            if len(data) - self._at < HEADER:
                return None
            if is_header(data, self._at):
                record = _record_at(data, self._at)
                if record is None:
                    return None  # wait for the end of a possible record
                first = protection.number
                if self._opens(record, protection):
                    return self._plain_lost(protection, protection.number - first)
                protection.number = first
            self._at += 1
        return None

    def chunks(self) -> list[tuple[bytes, int, int]]:
        """Return the bytes from the record found on, with their packets."""
        skip, rest = self._at, []
        for payload, ref, time_ns in self._chunks:
            if skip < len(payload):
                rest.append((payload[skip:], ref, time_ns))
            skip = max(0, skip - len(payload))
        return rest

    def _opens(self, record: Record, protection: Protection) -> bool:
        least = HEADER + (protection.overhead or 0)
        most = min((self._lost + self._at) // least, MAX_LOST_RECORDS) + 1
        for _ in range(most):
            self._trials += 1
            if protection.open(record) is not None:
                return True
            protection.number += 1
        return False

    def _plain_lost(self, protection: Protection, records: int) -> int:
        if protection.overhead is None:
            return UNKNOWN_LENGTH
        length = self._lost + self._at - records * (HEADER + protection.overhead)
        return length if length >= 0 else UNKNOWN_LENGTH


def _record_at(data: bytes, at: int) -> Record | None:
    """Return the whole record at an offset, or None while some of its bytes are missing."""
    end = at + HEADER + int.from_bytes(data[at + 3 : at + HEADER])
    records = RecordCutter().feed(data[at:end], 0, 0) if end <= len(data) else []
    return records[0] if records else None


class SideOwner(Protocol):
    """Methods that a side calls on its connection."""

    def record(self, direction: int, record: Record) -> None:
        """Take the next record of a direction."""

    def missing(self, direction: int, why: str) -> None:
        """Handle a direction that lost its position: bytes are missing, or the bytes there are no record."""

    def hopeless(self, why: str) -> None:
        """Handle a direction that cannot find its position again."""

    def ended(self, direction: int) -> None:
        """Handle the end of a direction."""


class TlsSide:
    """State of one direction. `sink` receives the plaintext. `is_shut`: it receives no more."""

    def __init__(self, owner: SideOwner, direction: int, sink: StreamSink) -> None:
        self._owner = owner
        self.direction = direction
        self.sink = sink
        self.cutter = RecordCutter()
        self.messages = MessageCutter()
        self.protection: Protection | None = None
        self.coming: list[Protection | None] = []
        """Keys that the next ChangeCipherSpec, EndOfEarlyData and Finished put in force, in this order."""
        self.has_opened = False
        """Whether a record opened with the keys in force, or with the keys before them."""
        self.bad_in_a_row = 0
        self.waiting: deque[tuple[int, Record]] = deque()
        """Records whose keys are not known yet, with their number in both directions."""
        self.is_finished = False
        self.is_shut = False
        self.is_over = False
        self.recovery: Recovery | None = None
        """The search for the next record, while the place is lost."""

    def switch(self) -> None:
        """Put the next keys in force, or no keys if the key log lacks them."""
        self.protection = self.coming.pop(0) if self.coming else None
        self.has_opened = False

    # StreamSink

    def opened(self) -> None:
        """Do nothing: the connection's own readers know already."""

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Take the next bytes of ciphertext."""
        if self.is_shut:
            return
        if self.recovery is not None:
            self._recover(self.recovery, payload, ref, time_ns)
            return
        for record in self.cutter.feed(payload, ref, time_ns):
            self._owner.record(self.direction, record)
        if self.cutter.is_lost:
            held = self.cutter.take_held()
            recovery = self._lose_place(NO_RECORD, 0)
            if recovery is not None:
                self._recover(recovery, held, ref, time_ns)

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> None:
        """Handle missing ciphertext: it is of no use if it comes later."""
        if self.is_shut:
            return
        if self.recovery is not None:
            self.recovery.widen(length)
        else:
            held = self.cutter.take_held()
            self._lose_place(HOLE, len(held) + length)

    def fill(self, _hole: Hole, _parts: list[Part]) -> Filling:
        """Refuse late bytes: records are opened in their order, so that late records cannot be opened."""
        return Filling.DROPPED

    def forget(self, _hole: Hole) -> None:
        """Do nothing: no bytes are stored for a hole."""

    def _lose_place(self, why: str, lost: int) -> Recovery | None:
        """Begin a search for the next record, if the connection agrees; `lost` bytes are missing so far."""
        self._owner.missing(self.direction, why)
        self.recovery = None if self.is_shut else Recovery(lost)
        return self.recovery

    def _recover(self, recovery: Recovery, payload: bytes, ref: int, time_ns: int) -> None:
        protection = self.protection
        lost = None if protection is None else recovery.feed(payload, ref, time_ns, protection)
        if lost is not None:
            self.recovery = None
            if lost:
                self.sink.gap(lost, False, ref, time_ns)
            for chunk in recovery.chunks():
                self.data(*chunk)
        elif protection is None or recovery.is_hopeless:
            self._owner.hopeless("no record opens behind bytes that are missing from the capture")

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """No more bytes."""
        self.is_over = True
        self._owner.ended(self.direction)
        self.sink.end(how, ref, time_ns)

    # plaintext

    def give(self, plain: Plain, record: Record) -> None:
        """Hand application data on, each byte with the packet that brought it."""
        skip = len(record.header) + plain.offset
        content, at = plain.content, 0
        for length, ref, time_ns in record.pieces:
            if skip >= length:
                skip -= length
                continue
            part = content[at : at + length - skip]
            skip = 0
            at += len(part)
            if not part:
                break
            self.sink.data(part, ref, time_ns)
