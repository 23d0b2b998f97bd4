"""Cuts one direction of a connection into Kafka frames.

Rules:
- A frame is an int32 size and its number of bytes (spec/004 "Frame Structure").
- Bytes that were not captured leave a hole. A hole inside a frame costs that frame's later bytes, not the
  frame and not the position of the next one. A hole that hides a size prefix costs the position: the reader
  looks for the next plausible frame.
- Bytes that fill such a hole late are read as if they had been there, while no later bytes supersede its
  content.
- While the position is only a guess, a frame without a plausible header revokes it, and so does a segment
  that begins with a certain frame while another frame is incomplete. If there is proof of the incomplete one
  too, only a whole frame does.
"""

import struct
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.frame import STREAM_ENDED, Frame
from kdissect.model.packets.stream import UNKNOWN_LENGTH, CloseKind, Filling, Hole, Part, StreamSink
from kdissect.model.wording import plural
from kdissect.net.store import Store
from kdissect.session.torn import Mark, Stand, Torn, TornHole, frames_of

_SIZE = struct.Struct(">i")
_size_of = _SIZE.unpack_from
_PREFIX = 4
_UNKNOWN = -1
# How many plausible frames after a guess make the position certain again.
_TRUST_AFTER = 2
_WRONG_GUESS = "the guessed start of a frame was wrong"
# Bytes by which a frame grows until it reports to the store. Small frames are never counted, so that they
# cost no time.
COUNTED_BYTES = 1 << 20
KEPT_OF_LARGE = 1 << 16  # bytes stored of a frame that exceeds the limit
# of all readers without an incomplete frame, which make a new list with each frame
_NO_PARTS: list[bytes] = []
# Takes a frame, and whether doubt is allowed. Returns whether the frame's header was plausible, or None if
# that is no proof.
TakeFrame = Callable[[Frame, bool], bool | None]


class FrameOwner(Protocol):
    """Methods that a reader calls on its connection. `direction` is the reader's."""

    store: Store

    def undecided(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        """Bytes of a connection whose kind is not known yet."""

    def undecided_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Missing bytes of a connection whose kind is not known yet."""

    def find_frame(self, direction: int, data: bytes, first: int) -> int:
        """Return the offset of the next plausible frame in `data`; ~offset of the undecided end if there is
        none.
        """

    def may_begin(self, direction: int, data: bytes, offset: int) -> bool:
        """Return whether a frame can begin at `offset`, if the position is a guess."""

    def begins(self, direction: int, data: bytes, *, whole: bool) -> bool:
        """Return whether `data` begins with a frame beyond doubt, or, if not `whole`, with a part of one."""

    def lost(self, direction: int, why: str) -> Anomaly | None:
        """Take the loss of the reader's position. Return the anomaly."""

    def mark(self, direction: int) -> Mark:
        """Return the state of the conversation before a hole."""

    def can_replace(self, direction: int) -> bool:
        """Return whether a frame that was delivered without its end can be replaced."""

    def wants(self, direction: int, frames: list[Frame], mark: Mark, replaces: bool) -> bool:
        """Return whether frames from holes that began at a mark can take their place yet.

        `replaces`: the first one was delivered already, without its end.
        """

    def put_back(self, direction: int, frames: list[Frame], mark: Mark, replaces: bool) -> None:
        """Take frames from holes that began at a mark, if it `wants` them."""

    def retract(self, anomaly: Anomaly) -> None:
        """Retract an anomaly of the connection that proved wrong."""

    def is_middle_start(self, direction: int) -> bool:
        """Return whether the beginning of the direction was not captured."""

    def note(self, anomaly: Anomaly) -> None:
        """Note an anomaly of the connection."""

    def is_foreign(self, direction: int, data: bytes, ref: int, time_ns: int) -> bool:
        """Return whether the first bytes of the direction, which are no frame, are another protocol's."""

    def ending(self, how: CloseKind, time_ns: int) -> None:
        """Take the end of a direction, inside a frame."""

    def ended(self, direction: int, how: CloseKind, time_ns: int) -> None:
        """Take the end of a direction."""


def nowhere(_frame: Frame, _doubtful: bool) -> bool:
    """Drop a frame that has no other receiver."""
    return True


class Mode(IntEnum):
    """Mode of a reader for its next bytes."""

    DETECTING = 0  # buffered until the connection knows what it carries
    FRAMES = 1
    LOST = 2  # looking for the next frame
    OPAQUE = 3  # not Kafka: counted by the TCP layer, not decoded
    THROUGH = 4  # TLS: handed to what decrypts it


_FRAMES = Mode.FRAMES  # a module's own name is found faster than an enum's member, once a packet


class FramingState(NamedTuple):
    """State of a reader with a certain position, for the native engine.

    `size` of the current frame (-1 without one), the number of its bytes at which the reader acts, the number
    that is left until then, its counted bytes, its content so far, 1-3 bytes of a size, and reference and
    time of its first and last packets.
    """

    size: int
    stop: int
    room: int
    counted: int
    parts: list[bytes]
    stub: bytes
    first: tuple[int, int]
    last: tuple[int, int]


class FrameReader:
    """One direction's frames. Implements `StreamSink`. Frames go to the receiver of `start_frames`."""

    __slots__ = (
        "_again", "_connection", "_counted", "_doubt", "_first_ref", "_first_time", "_holed", "_is_proven",
        "_size", "_skipped", "_stop", "_stub", "_take", "_through", "_torn", "closed",
        "direction", "is_open", "last_ref", "last_time_ns", "mode", "parts", "room",
    )  # fmt: skip

    def __init__(self, connection: FrameOwner, direction: int) -> None:
        self._connection = connection
        self._counted = 0  # bytes of the current frame that the store knows of
        self._stop = 0  # offset in the content of the current frame at which the reader acts
        self._again = b""  # bytes to be read once more: a loop, as crafted bytes would make a recursion deep
        self.direction = direction
        self.mode = Mode.DETECTING
        self._take: TakeFrame = nowhere
        self.is_open = False  # the stream's first byte was seen
        self.closed: CloseKind | None = None
        self.parts = _NO_PARTS  # content of the current frame, up to its first hole
        self.room = 0  # `_stop` less the bytes of its content that passed, captured or not
        self._size = _UNKNOWN
        self._holed = False
        self._stub = b""  # 1-3 bytes of a size prefix, or the undecided end of the bytes searched while LOST
        self._first_ref = self.last_ref = 0
        self._first_time = self.last_time_ns = 0
        self._skipped = 0
        self._through: StreamSink | None = None
        self._torn: Torn | None = None  # around holes after which no frame was found
        self._is_proven = False  # the current frame, whose start is a guess, is one of the conversation
        self._doubt = 0  # frames still to be judged before the position counts as certain

    # StreamSink

    def opened(self) -> None:
        """Note that the next byte is the first of the stream."""
        self.is_open = True

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Take the next bytes of the stream."""
        if self.mode is not _FRAMES:
            self._outside_frames(payload, ref, time_ns)
            return
        if self._doubt and self._is_refuted(payload):
            self._outside_frames(payload, ref, time_ns)
            return
        if self._size < 0:
            # A segment that is one frame, as nearly all small frames are: no need to cut.
            if len(payload) >= _PREFIX and not self._stub and not self._doubt:
                size = _size_of(payload)[0]
                if size == len(payload) - _PREFIX:
                    self._take(Frame(payload[_PREFIX:], size, ref, ref, time_ns, time_ns), False)
                    return
            self._cut(payload, ref, time_ns)
            if self._again:
                self._look_again(ref, time_ns)
            return
        room = self.room - len(payload)
        if room > 0:
            self.room = room
            self.last_ref = ref
            self.last_time_ns = time_ns
            self.parts.append(payload)
            return
        have = self._stop - room
        if have < self._size:
            self._go_on(payload, have, ref, time_ns)
            return
        self._complete(payload, have - self._size, ref, time_ns)
        self._look_again(ref, time_ns)

    def _outside_frames(self, payload: bytes, ref: int, time_ns: int) -> None:
        if self.mode is Mode.LOST:
            self._hold(payload, ref, time_ns)
            self._search(payload, ref, time_ns)
            self._look_again(ref, time_ns)
        elif self.mode is Mode.DETECTING:
            self._connection.undecided(self.direction, payload, ref, time_ns)
        elif self._through is not None:
            self._through.data(payload, ref, time_ns)

    def _is_refuted(self, payload: bytes) -> bool:
        """Return whether the current frame, whose start is a guess, is none: then the position is lost."""
        if self._size < 0 and not self._stub:
            return False
        is_proven = self._is_proven and self._size >= 0
        if not self._connection.begins(self.direction, payload, whole=is_proven):
            return False
        passed = len(self._stub) if self._size < 0 else _PREFIX + self._stop - self.room
        self._lose(_WRONG_GUESS)
        self._skipped = passed
        return True

    def _look_again(self, ref: int, time_ns: int) -> None:
        """Go on with the bytes of a segment after a frame, a wrong size or a found position."""
        while self._again:
            payload, self._again = self._again, b""
            if self.mode is Mode.FRAMES:
                self._cut(payload, ref, time_ns)
            elif self.mode is Mode.LOST:
                self._search(payload, ref, time_ns)

    def _go_on(self, payload: bytes, have: int, ref: int, time_ns: int) -> None:
        """Take a large frame's growth by `COUNTED_BYTES`, and drop its bytes if all current frames exceed the
        limit.
        """
        store = self._connection.store
        self.last_ref, self.last_time_ns = ref, time_ns
        if self._holed:
            self._hold(payload, ref, time_ns)
            self._stand_at(have)
            return
        self._stop = min(self._size, have + COUNTED_BYTES)
        self.room = self._stop - have
        self.parts.append(payload)
        self._counted += COUNTED_BYTES
        counts = store.counts
        counts.frame_bytes += COUNTED_BYTES
        if counts.frame_bytes > store.limits.frame_bytes:
            detail = f"{plural(counts.frame_bytes, 'byte')} of incomplete frames in all connections together"
            self._connection.note(Anomaly(AnomalyKind.REASSEMBLY_LIMIT, detail, ref, time_ns, self.direction))
            self.parts = [b"".join(self.parts)[:KEPT_OF_LARGE]]
            self._holed = True
            self._stand_at(have)
            self._uncount()

    def _stand_at(self, have: int) -> None:
        """Count bytes of a frame with a hole. It stores none, so the reader acts at each payload."""
        self._stop = have
        self.room = 0

    def _uncount(self) -> None:
        self._connection.store.counts.frame_bytes -= self._counted
        self._counted = 0

    def gap(
        self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False
    ) -> Hole | None:
        """Take a hole of `length` bytes. Return the hole if later bytes can fill it usefully."""
        is_final = snapped or length == UNKNOWN_LENGTH or not can_fill
        if is_final:
            self._let_go()
        torn = self._torn
        if torn is None and not is_final and self._can_tear:
            torn = Torn(self._connection.store, self._stand(), self._connection.mark(self.direction))
        if torn is None:
            self._pass(length, snapped, ref, time_ns)
            return None
        hole = TornHole(torn, length, ref, time_ns)
        self._tear(hole)
        return None if torn.is_over else hole

    def _pass(self, length: int, snapped: bool, ref: int, time_ns: int) -> Anomaly | None:
        """Go on after a hole. Return the anomaly of the connection."""
        if self.mode is Mode.FRAMES:
            return self._hole(length, snapped, ref, time_ns)
        if self.mode is Mode.LOST:
            self._skipped += max(length, 0) + len(self._stub)
            self._stub = b""
        elif self.mode is Mode.DETECTING:
            self._connection.undecided_gap(self.direction, length, snapped, ref, time_ns)
        elif self._through is not None:
            self._through.gap(length, snapped, ref, time_ns)
        return None

    @property
    def _can_tear(self) -> bool:
        """Whether the reader has all bytes since the last certain position."""
        return self.mode is Mode.FRAMES and not self._holed and not self._doubt

    def _stand(self) -> Stand:
        begun = self._stub
        if self._size >= 0:
            begun = b"".join((_SIZE.pack(self._size), *self.parts))
        first, last = (self._first_ref, self._first_time), (self.last_ref, self.last_time_ns)
        return Stand(begun, first, last)

    def _tear(self, hole: TornHole) -> None:
        """Pass a hole, and hold what is around it."""
        torn = hole.torn
        torn.tear(hole)
        self._torn = None  # what is delivered and lost here is because of it
        was_under_way = self._size >= 0
        noted = self._pass(hole.length, False, hole.ref, hole.time_ns)
        if noted is not None:
            torn.notes.append(noted)
        if was_under_way and self._size < 0:
            torn.replaces = self._connection.can_replace(self.direction)
            torn.is_cut = not torn.replaces
        if self.mode is Mode.LOST or self._holed:
            self._torn = torn
        elif torn.replaces:
            torn.close(0)
        else:
            torn.release()

    def _hold(self, payload: bytes, ref: int, time_ns: int) -> None:
        torn = self._torn
        if torn is not None and not torn.add(payload, ref, time_ns, self.mode is Mode.LOST):
            self._let_go()

    def _let_go(self) -> None:
        """Release the bytes around holes: late bytes are of no use any more."""
        if self._torn is not None:
            self._torn.release()
            self._torn = None

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        """Take all bytes of a gap late: read them, if no later bytes replaced their content."""
        assert isinstance(hole, TornHole), "given by `gap`"
        torn = hole.torn
        if torn.is_over or self.closed is not None:
            return Filling.DROPPED
        hole.parts = parts
        if torn is self._torn:
            return self._read_again(torn)
        if not torn.is_filled:
            return Filling.KEPT
        found, rest = frames_of(torn)
        frames = [] if rest else found[torn.is_cut :]  # they end at the start of the next one, or are none
        if not frames or not self._connection.wants(self.direction, frames, torn.mark, torn.replaces):
            torn.release()
            return Filling.DROPPED
        self._settle(torn)
        self._connection.put_back(self.direction, frames, torn.mark, torn.replaces)
        return Filling.PUT_BACK

    def forget(self, hole: Hole) -> None:
        """No bytes of a gap come any more."""
        assert isinstance(hole, TornHole), "given by `gap`"
        if hole.torn is not self._torn:
            hole.torn.release()

    def _settle(self, torn: Torn) -> None:
        """Settle the filled holes, which are holes no more."""
        for part in torn.parts:
            if isinstance(part, TornHole):
                part.is_filled = bool(part.parts)
        for anomaly in torn.notes:
            self._connection.retract(anomaly)
        if torn.is_cut:
            detail = "the remaining bytes of a frame came after kdissect decoded the frame without them"
            self._connection.note(
                Anomaly(AnomalyKind.LATE_SEGMENT, detail, *torn.stand.first, self.direction)
            )
        torn.release()

    def _read_again(self, torn: Torn) -> Filling:
        """Go back to the beginning of the first hole, and read on from there."""
        frames = frames_of(torn)[0][torn.is_cut :]
        if not self._connection.wants(self.direction, frames, torn.mark, torn.replaces):
            self._let_go()
            return Filling.DROPPED
        parts, stand, take = torn.parts, torn.stand, self._take
        self._settle(torn)
        self._connection.put_back(self.direction, [], torn.mark, torn.replaces)
        self._torn = None
        self._reset()
        self.mode, self._stub, self._skipped = Mode.FRAMES, b"", 0
        if torn.is_cut:  # delivered already
            self._take = _Once(self, take)
        if stand.begun:
            self.data(stand.begun, *stand.first)
            self.last_ref, self.last_time_ns = stand.last
        for part in parts:
            if not isinstance(part, TornHole):
                self.data(*part)
            elif part.parts:
                for filling in part.parts:
                    self.data(*filling)
            else:
                self._gap_again(part)
        return Filling.PUT_BACK

    def _gap_again(self, hole: TornHole) -> None:
        """Handle a hole that is not filled, as `gap` does."""
        torn = self._torn
        if torn is None and self._can_tear:
            torn = Torn(self._connection.store, self._stand(), self._connection.mark(self.direction))
        if torn is None:
            self._pass(hole.length, False, hole.ref, hole.time_ns)
        else:
            hole.torn = torn
            self._tear(hole)

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """End the stream. A partial frame is delivered as cut."""
        self.closed = how
        self._let_go()
        if self._through is not None:
            self._through.end(how, ref, time_ns)
            return
        self.end_frame(how, time_ns)
        self._connection.ended(self.direction, how, time_ns)

    def end_frame(self, how: CloseKind, time_ns: int) -> None:
        """Deliver a partial frame, and again after the bytes that waited for the end."""
        if self.mode is Mode.FRAMES and self._size >= 0:
            self._connection.ending(how, time_ns)
            missing = "bytes missing inside the frame, and " if self._holed else ""
            self._deliver_cut(f"{missing}{STREAM_ENDED} ({how}) inside the frame")

    # the native engine

    @property
    def is_certain(self) -> bool:
        """Whether it cuts frames at a known position, and has all bytes of the current one."""
        return self.mode is _FRAMES and not self._doubt and not self._holed and self.closed is None

    def state(self) -> FramingState:
        """Return the state for the native engine. Call it only if `is_certain`."""
        return FramingState(
            self._size, self._stop, self.room, self._counted, self.parts, self._stub,
            (self._first_ref, self._first_time), (self.last_ref, self.last_time_ns),
        )  # fmt: skip

    def take_over(self, state: FramingState, take: TakeFrame) -> None:
        """Go on from the native engine's position."""
        self.start_frames(take, certain=True)
        (
            self._size, self._stop, self.room, self._counted, self.parts, self._stub,
            (self._first_ref, self._first_time), (self.last_ref, self.last_time_ns),
        ) = state  # fmt: skip

    @property
    def begun(self) -> bytes:
        """The first content bytes of the incomplete frame, or no bytes without one."""
        return self.parts[0] if self._size >= 0 and self.parts else b""

    # position

    def start_frames(self, take: TakeFrame, certain: bool) -> None:
        """Start at the first byte of a frame (`certain`), or somewhere in the stream.

        Frames go to `take`.
        """
        self._take = take
        self.mode = Mode.FRAMES if certain else Mode.LOST

    def hand_to(self, take: TakeFrame) -> None:
        """Frames go to `take` from here on, whatever the position is."""
        self._take = take

    def go_opaque(self) -> None:
        """Stop looking at the bytes."""
        self.mode = Mode.OPAQUE
        self._let_go()
        self.parts = _NO_PARTS
        self.room = 0
        self._uncount()
        self._stub = b""

    def go_through(self, sink: StreamSink) -> None:
        """Hand everything from here on to `sink`."""
        self.go_opaque()
        self.mode = Mode.THROUGH
        self._through = sink

    def _lose(self, why: str) -> Anomaly | None:
        self.mode = Mode.LOST
        self._reset()
        self._stub = b""
        self._skipped = 0
        self._let_go()
        return self._connection.lost(self.direction, why)

    # frames

    def _cut(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Cut frames out of bytes that begin with a frame."""
        if self._stub:
            payload = self._stub + payload
            self._stub = b""
        else:
            self._first_ref = ref
            self._first_time = time_ns
        most = self._connection.store.limits.frame_size
        position = 0
        end = len(payload)
        while end - position >= _PREFIX:
            size = _size_of(payload, position)[0]
            content = position + _PREFIX
            stop = content + size
            if not 0 <= size <= most:
                self._bad_size(size, payload[position:], ref, time_ns)
                return
            if self._doubt and not self._connection.may_begin(self.direction, payload, position):
                self._search_behind(_WRONG_GUESS, payload[position:])
                return
            if stop > end:
                if self._doubt:
                    rest = payload[position:]
                    self._is_proven = self._connection.begins(self.direction, rest, whole=False)
                self._begin(size, payload[content:], ref, time_ns)
                return
            self._deliver(Frame(payload[content:stop], size, self._first_ref, ref, self._first_time, time_ns))
            position = stop
            self._first_ref = ref
            self._first_time = time_ns
            if self.mode is not _FRAMES:
                self._again = payload[position:]
                return
        self._stub = payload[position:]

    def _begin(self, size: int, content: bytes, ref: int, time_ns: int) -> None:
        self._size = size
        self._stop = min(size, COUNTED_BYTES)
        self.room = self._stop - len(content)
        self.parts = [content]
        self.last_ref = ref
        self.last_time_ns = time_ns

    def _complete(self, payload: bytes, extra: int, ref: int, time_ns: int) -> None:
        """Deliver the current frame, which ends in this payload, `extra` bytes before its end."""
        size = self._size
        if self._holed:
            content = self.parts[0]
        else:
            self.parts.append(payload[:-extra] if extra else payload)
            content = b"".join(self.parts)
        frame = Frame(content, size, self._first_ref, ref, self._first_time, time_ns)
        if self._holed:
            frame.note(_cut_frame(frame, "bytes missing inside the frame"))
        self._reset()
        self._let_go()
        self._deliver(frame)
        if extra:
            self._again = payload[-extra:]

    def _reset(self) -> None:
        self._size = _UNKNOWN
        self.parts = _NO_PARTS
        self.room = 0
        self._holed = False
        if self._counted:
            self._uncount()

    def _deliver(self, frame: Frame) -> None:
        if not self._doubt:
            self._take(frame, False)
        else:
            is_plausible = self._take(frame, True)
            if is_plausible:
                self._doubt -= 1
            elif is_plausible is not None:
                self._doubt = 0
                self._lose(_WRONG_GUESS)

    def _deliver_cut(self, why: str) -> None:
        content = self.parts[0] if self._holed else b"".join(self.parts)
        frame = Frame(
            content, self._size, self._first_ref, self.last_ref, self._first_time, self.last_time_ns
        )
        frame.note(_cut_frame(frame, why))
        self._reset()
        self._deliver(frame)

    def _hole(self, length: int, snapped: bool, ref: int, time_ns: int) -> Anomaly | None:
        if length == UNKNOWN_LENGTH:
            if self._size >= 0:
                self._deliver_cut("bytes missing inside the frame")
            return self._lose("the number of bytes that were not captured is unknown")
        if self._size < 0:
            return self._lose(f"{plural(length, 'byte')} at the start of a frame not captured")
        if not self._holed:
            self.parts = [b"".join(self.parts)]
            self._holed = True
        have = self._stop - self.room + length
        self._stand_at(have)
        if snapped:
            self.last_ref = ref
            self.last_time_ns = time_ns
        if have < self._size:
            return None
        beyond = have - self._size
        self._deliver_cut("cut by the snap length" if snapped else "segments were not captured")
        if beyond and self.mode is Mode.FRAMES:
            return self._lose(f"{plural(beyond, 'byte')} at the start of a frame not captured")
        return None

    def _bad_size(self, size: int, rest: bytes, ref: int, time_ns: int) -> None:
        if self._connection.is_foreign(self.direction, rest, ref, time_ns):
            self.go_opaque()
            return
        detail = f"frame size {size} is not within 0-{self._connection.store.limits.frame_size}"
        self._connection.note(Anomaly(AnomalyKind.BAD_FRAME_SIZE, detail, ref, time_ns, self.direction))
        self._search_behind(detail, rest)

    def _search_behind(self, why: str, rest: bytes) -> None:
        """No frame begins at `rest`: it is passed over, or the search would find the same bytes again."""
        self._lose(why)
        self._skipped = 1
        self._again = rest[1:]

    # search

    def _search(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Look for the next frame: first at the segment's start, then at every offset."""
        held = len(self._stub)
        buffer = self._stub + payload if held else payload
        position = self._connection.find_frame(self.direction, buffer, held)
        if position < 0:  # bytes from ~position on may still become the start of a frame
            keep = ~position
            self._skipped += keep
            if keep >= held:
                self._first_ref = ref
                self._first_time = time_ns
            self._stub = buffer[keep:]
            return
        if position >= held:
            self._first_ref = ref
            self._first_time = time_ns
        self._found(self._skipped + position, ref, time_ns)
        torn, self._torn = self._torn, None
        if torn is not None:
            torn.close(len(buffer) - position)
        self._stub = buffer[:0] if position >= held else buffer[position:held]
        self._again = buffer[max(position, held) :]

    def _found(self, skipped: int, ref: int, time_ns: int) -> None:
        self.mode = Mode.FRAMES
        self._doubt = _TRUST_AFTER
        self._skipped = 0
        if skipped or not self._connection.is_middle_start(self.direction):
            detail = f"{plural(skipped, 'byte')} passed over before the next frame"
            anomaly = Anomaly(AnomalyKind.RESYNCHRONISED, detail, ref, time_ns)
            self._connection.note(anomaly)
            if self._torn is not None:
                self._torn.notes.append(anomaly)


class _Once:
    """Receiver that skips the first frame, which was delivered already, and passes on later frames."""

    def __init__(self, reader: FrameReader, take: TakeFrame) -> None:
        self._reader = reader
        self._take = take

    def __call__(self, _frame: Frame, _doubtful: bool) -> bool:
        self._reader.hand_to(self._take)
        return True


def _cut_frame(frame: Frame, why: str) -> Anomaly:
    detail = f"{len(frame.data)} of {plural(frame.size, 'byte')} captured: {why}"
    return Anomaly(AnomalyKind.CUT_FRAME, detail, frame.first_ref, frame.time_ns)
