"""Cuts the wanted frames out of one connection while it is reassembled again.

A frame is found in the packet in which it began, by its first bytes. From there its length counts. Bytes
between wanted frames are removed, and the streams are closed over them: readers of the excerpt see no hole
that was none. Holes in the middle of a wanted frame stay. Bytes after a hole wait for a while: bytes that
fill it later are put in their place.
"""

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from kdissect.engine.secrets.patches import FILLER, Patch, patched
from kdissect.excerpt.edit import blanked, spliced
from kdissect.excerpt.frame_plans import ConnectionPlan, FramePlan
from kdissect.model.packets.segment import ACK, FIN, PSH, RST
from kdissect.model.packets.stream import UNKNOWN_LENGTH, CloseKind, Filling, Hole, Part
from kdissect.session.torn import MOST_LOST_BYTES


class Piece(NamedTuple):
    """A piece of a stream. `payload` are bytes that the excerpt has of the direction, `skip` counts lost
    bytes before them, `flags` are as in a TCP header.

    `exchange` and `is_request` name the frame of the bytes, -1 for none. `frame` comes with the first of its
    bytes.
    """

    ref: int
    time_ns: int
    direction: int
    payload: bytes
    skip: int = 0
    flags: int = 0
    exchange: int = -1
    is_request: bool = False
    frame: FramePlan | None = None


_SIZE_BYTES = 4
# Bytes stored of content that is in no frame and may be anything: a size, which findings are about, and no
# secret.
_UNKNOWN_BYTES_KEPT = 4
# Bytes of a direction that are in no frame, overwritten or not: after a lost position there may be gigabytes.
_MAX_UNKNOWN_BYTES = 1 << 20
_NO_REF = -1


class _CutHole(Hole):
    """A hole of a stream. `parts` fill it."""

    __slots__ = ("length", "parts")

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.parts: list[Part] = []


class StreamCutter:
    """One direction: implements `model.stream.StreamSink`, gives pieces to `emit`."""

    __slots__ = (
        "_at", "_behind", "_behind_bytes", "_candidates", "_direction", "_emit", "_frame", "_frames", "_held",
        "_is_open_end", "_is_other", "_keeps_rest", "_late", "_left", "_ref", "_rest_bytes", "_show_secrets",
        "_skip", "_unknown", "_waiting",
    )  # fmt: skip

    def __init__(
        self, plan: ConnectionPlan, direction: int, show_secrets: bool, emit: Callable[[Piece], None]
    ) -> None:
        self._frames = plan.frames  # those still to come
        self._left = plan.number[direction]
        # Frames that begin in the current packet, by their first bytes.
        self._ref = _NO_REF
        self._waiting: dict[bytes, deque[FramePlan]] | None = None
        self._candidates: list[tuple[int, int, bytes]] | None = (
            None  # where they begin in the current payload: a heap
        )
        self._keeps_rest = plan.whole and (self._left > 0 or plan.is_open_end)
        self._is_open_end = plan.is_open_end
        self._direction = direction
        self._show_secrets = show_secrets
        self._emit = emit
        self._frame: FramePlan | None = None
        self._at = 0  # bytes of the frame that were read
        self._is_other = False  # the assumed beginning of the frame was wrong
        self._skip = 0  # bytes lost since the last piece
        self._unknown = 0  # bytes stored that are in no frame, since the last frame
        self._rest_bytes = 0
        self._held: tuple[bytes, int, int] | None = None  # the end of a segment, where a frame may begin

        # Holes and the bytes after the first of them, while it may be filled. Late bytes wait until the
        # current frame is over.
        self._behind: list[Part | _CutHole] = []
        self._behind_bytes = 0
        self._late: list[Part] = []

    @property
    def holds_back(self) -> bool:
        """Whether the cutter has yet to emit bytes of an earlier packet."""
        return self._held is not None or bool(self._behind or self._late)

    # the compiled copier

    @property
    def can_be_lent(self) -> bool:
        """Whether all that it does is to cut out what is wanted."""
        return not self.holds_back and not self._skip and not self._keeps_rest and not self._is_other

    def state(self) -> tuple[bytes, int] | None:
        """Return the current frame, packed, and the number of its bytes that were read."""
        return None if self._frame is None else (self._frame.packed(), self._at)

    def take_over(self, state: tuple[bytes, int] | None) -> None:
        """Go on from the copier's position."""
        self._frame, self._at = None, 0
        if state is not None:
            self._frame, self._at = FramePlan.unpacked(state[0]), state[1]

    # StreamSink

    def opened(self) -> None:
        """Ignore the SYN, which is a packet of its own."""

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Keep what belongs to wanted frames."""
        if self._behind:
            if self._frame is not None or not self._beginning_in(ref):
                self._behind.append((payload, ref, time_ns))
                self._behind_bytes += len(payload)
                if self._frame is None and self._behind_bytes > MOST_LOST_BYTES:
                    self._let_go()
                return
            self._let_go()  # a wanted frame begins: the first reading found its place here
        self._take(payload, ref, time_ns)
        if self._late and self._frame is None:
            self._take_late()

    def _take(self, payload: bytes, ref: int, time_ns: int) -> None:
        self._settle(payload)
        self._candidates = None
        at = 0
        while at < len(payload):
            if self._frame is None:
                start = self._next_frame(payload, at, ref)
                self._rest(payload[at:start], ref, time_ns)
                at = start
                if self._holds_back(payload[at:], ref, time_ns):
                    return
                continue
            left = self._frame.length - self._at
            self._piece(payload[at : at + left], ref, time_ns)
            at += left

    def gap(
        self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False
    ) -> Hole | None:
        """Handle a hole: it stays inside a wanted frame, and if all bytes are wanted."""
        if snapped or length == UNKNOWN_LENGTH or not can_fill:
            self._let_go()
            self._pass(length)
            return None
        hole = _CutHole(length)
        if not self._behind:
            self._settle(b"")
            frame = self._frame
            if frame is not None and frame.known < frame.length:  # the first reading had it with this hole
                self._pass(length)
                return hole
        self._behind.append(hole)
        return hole

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        """Store the bytes of a gap that came late, if they belong to wanted frames."""
        assert isinstance(hole, _CutHole), "given by `gap`"
        if any(one is hole for one in self._behind):
            hole.parts = parts
            self._take_filled()
        else:
            self._late += parts
        if self._late and self._frame is None and not self._behind:
            self._take_late()
        return Filling.DROPPED  # the first reading said what became of it

    def forget(self, hole: Hole) -> None:
        """No bytes of a gap come any more."""

    def _take_filled(self) -> None:
        """Go on up to the first hole that is not filled."""
        behind, self._behind, self._behind_bytes = self._behind, [], 0
        for at, part in enumerate(behind):
            if isinstance(part, _CutHole) and not part.parts:
                self._behind = behind[at:]
                return
            self._take_part(part)

    def _let_go(self) -> None:
        """Release the bytes after the holes, which are not filled any more."""
        behind, self._behind, self._behind_bytes = self._behind, [], 0
        for part in behind:
            self._take_part(part)
        if self._late and self._frame is None:
            self._take_late()

    def _take_part(self, part: Part | _CutHole) -> None:
        if not isinstance(part, _CutHole):
            self._take(*part)
        elif part.parts:
            for filling in part.parts:
                self._take(*filling)
        else:
            self._pass(part.length)

    def _take_late(self) -> None:
        """Take late bytes if they are in wanted frames."""
        late, self._late = self._late, []
        keeps, self._keeps_rest = self._keeps_rest, False
        for part in late:
            self._take(*part)
        self._keeps_rest = keeps and (self._left > 0 or self._is_open_end)

    def _pass(self, length: int) -> None:
        self._settle(b"")
        if length == UNKNOWN_LENGTH:  # the frame's end cannot be found after it
            length = 0 if self._frame is None else self._frame.length - self._at
        if self._frame is not None:
            inside = min(length, self._frame.length - self._at)
            self._skip += inside
            self._advance(inside)
            length -= inside
        if length and self._keeps_rest:
            self._skip += length

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """End the stream."""
        self._let_go()
        self._settle(b"")
        if how in (CloseKind.FIN, CloseKind.RST):
            flags = (FIN if how is CloseKind.FIN else RST) | ACK
            self._emit(Piece(ref, time_ns, self._direction, b"", self._skip, flags))

    # frames

    def _next_frame(self, payload: bytes, at: int, ref: int) -> int:
        """Begin the next wanted frame. Return its offset, or the end of the payload if none begins here."""
        waiting = self._beginning_in(ref)
        if not waiting:
            return len(payload)
        candidates = self._candidates
        if candidates is None:
            found = [(_find(payload, mark, at), order, mark) for order, mark in enumerate(waiting)]
            candidates = self._candidates = [one for one in found if one[0] >= 0]
            heapify(candidates)
        while candidates and candidates[0][0] < at:  # inside of a frame that was cut out since
            _, order, mark = heappop(candidates)
            position = _find(payload, mark, at)
            if position >= 0:
                heappush(candidates, (position, order, mark))
        if not candidates:
            return len(payload)
        position, _, mark = candidates[0]
        self._frame = waiting[mark].popleft()
        if not waiting[mark]:
            del waiting[mark]
            heappop(candidates)
            self._waiting = waiting or None
        self._left -= 1
        self._at = 0
        self._is_other = False
        self._unknown = 0
        return position

    def _beginning_in(self, ref: int) -> dict[bytes, deque[FramePlan]] | None:
        """Return the frames that begin in a packet and have not begun yet, by their first bytes."""
        if ref != self._ref:
            self._ref, self._waiting = ref, None
            for frame in self._frames.take(ref):
                self._waiting = self._waiting or {}
                self._waiting.setdefault(frame.mark, deque()).append(frame)
        return self._waiting

    def _holds_back(self, tail: bytes, ref: int, time_ns: int) -> bool:
        """Return whether the bytes of a frame that just began wait for the following bytes."""
        if self._frame is None or not _is_doubtful(tail, self._frame.mark):
            return False
        self._held = tail, ref, time_ns
        return True

    def _settle(self, payload: bytes) -> None:
        """Find the beginning of the frame from the buffered bytes and the bytes that follow them."""
        if self._held is None or self._frame is None:
            return
        (held, ref, time_ns), self._held = self._held, None
        joined = held + payload
        shift = max(_find(joined, self._frame.mark, 0), 0)
        shift = shift if shift < len(held) else 0
        self._rest(held[:shift], ref, time_ns)
        self._piece(held[shift:], ref, time_ns)

    def _piece(self, payload: bytes, ref: int, time_ns: int) -> None:
        frame = self._frame
        assert frame is not None
        data = self._redacted(frame, payload)
        piece = Piece(ref, time_ns, self._direction, data, 0, PSH | ACK, frame.exchange, frame.is_request)
        if data:
            self._send(piece._replace(frame=None if self._at else frame))
        self._advance(len(payload))

    def _redacted(self, frame: FramePlan, payload: bytes) -> bytes:
        if self._show_secrets:
            return payload
        beginning = frame.mark[self._at : self._at + len(payload)]
        self._is_other = self._is_other or not payload.startswith(beginning)
        if self._is_other:
            return FILLER * len(payload)
        begin = self._at - _SIZE_BYTES
        data = blanked(payload, frame.blanks, begin)
        end = begin + len(payload)
        over = [Patch(at - begin, put) for at, put in frame.patches if at < end and at + len(put) > begin]
        data = patched(data, over)
        known = max(frame.known - self._at, 0)
        # after a gap the content at each position is unknown
        data = data[:known] + FILLER * len(data[known:])
        return spliced(data, self._at, frame.edits)

    def _advance(self, length: int) -> None:
        assert self._frame is not None
        self._at += length
        if self._at >= self._frame.length:
            self._frame = None
            self._keeps_rest = self._keeps_rest and (self._left > 0 or self._is_open_end)

    def _rest(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Bytes between wanted frames."""
        self._rest_bytes += len(payload)
        if not payload or not self._keeps_rest or self._rest_bytes > _MAX_UNKNOWN_BYTES:
            return
        if not self._show_secrets:
            shown = max(_UNKNOWN_BYTES_KEPT - self._unknown, 0)
            payload = payload[:shown] + FILLER * len(payload[shown:])
        self._unknown += len(payload)
        self._send(Piece(ref, time_ns, self._direction, payload, 0, PSH | ACK))

    def _send(self, piece: Piece) -> None:
        self._emit(piece._replace(skip=self._skip))
        self._skip = 0


def _is_doubtful(tail: bytes, mark: bytes) -> bool:
    """Return whether a frame that seems to begin with `tail`, the end of a segment, may begin inside of it
    too.
    """
    if len(tail) >= len(mark):
        return False
    return any(mark.startswith(tail[at:]) for at in range(1, len(tail)))


def _find(payload: bytes, mark: bytes, at: int) -> int:
    """Return the offset of a frame whose first bytes are `mark`, or the part of them that the payload has.
    -1: not found.
    """
    found = payload.find(mark, at)
    if found >= 0:
        return found
    for position in range(max(at, len(payload) - len(mark) + 1), len(payload)):
        if payload[position:] == mark[: len(payload) - position]:
            return position
    return -1
