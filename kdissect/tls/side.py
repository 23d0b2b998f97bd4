"""One direction of a TLS connection: a `StreamSink` of ciphertext that hands records to its connection."""

from typing import Protocol

from kdissect.model.packets.stream import CloseKind, StreamSink
from kdissect.tls.handshake_messages import MessageCutter
from kdissect.tls.protection import Plain, Protection
from kdissect.tls.recovery import Recovery
from kdissect.tls.tls_record import Record, RecordCutter


class SideOwner(Protocol):
    """What a side asks of the connection it belongs to."""

    def record(self, direction: int, record: Record) -> None:
        """The next record of a direction."""

    def missing(self, direction: int, why: str) -> None:
        """A direction lost its place: bytes are missing, or what stands there is no record."""

    def hopeless(self, why: str) -> None:
        """A direction cannot find its place again."""

    def ended(self, direction: int) -> None:
        """The direction is over."""


class TlsSide:
    """State of one direction. `sink` receives the plaintext; `is_shut`: nothing more will be given to it."""

    def __init__(self, owner: SideOwner, direction: int, sink: StreamSink) -> None:
        self._owner = owner
        self.direction = direction
        self.sink = sink
        self.cutter = RecordCutter()
        self.messages = MessageCutter()
        self.protection: Protection | None = None
        self.coming: Protection | None = None
        """Keys that the next ChangeCipherSpec or Finished puts in force."""
        self.is_finished = False
        self.is_shut = False
        self.is_over = False
        self.recovery: Recovery | None = None
        """The search for the next record, while the place is lost."""

    # StreamSink

    def opened(self) -> None:
        """The connection's own readers know already."""

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """The next bytes of ciphertext."""
        if self.is_shut:
            return
        if self.recovery is not None:
            self._recover(self.recovery, payload, ref, time_ns)
            return
        for record in self.cutter.feed(payload, ref, time_ns):
            self._owner.record(self.direction, record)
        if self.cutter.is_lost:
            held = self.cutter.take_held()
            recovery = self._lose_place("what stands where a record should begin is none", 0)
            if recovery is not None:
                self._recover(recovery, held, ref, time_ns)

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Ciphertext is missing."""
        if self.is_shut:
            return
        if self.recovery is not None:
            self.recovery.widen(length)
        else:
            held = self.cutter.take_held()
            self._lose_place("bytes of the handshake are missing from the capture", len(held) + length)

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
