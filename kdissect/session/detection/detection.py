"""Decides what a connection carries while its first bytes are buffered.

Rules:
- From the start of a connection the verdict depends on the bytes alone, never on how TCP cut them.
- From the middle, each segment's first byte is tried as the start of a request. A segment that is too short
  for a verdict waits for the next: some clients write a frame's size alone.
- Bytes that only look like a request wait for their proof (`candidate`): the end of the frame, or the answer.
- Bytes held back are replayed once the kind is known, the client's first: a request must be known before its
  response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kdissect.model.packets.stream import StreamSink
from kdissect.session.detection.candidate import JUDGED_BYTES, Candidate
from kdissect.session.detection.recognition import (
    MIN_LONE_RESPONSES,
    TOKEN_NEEDS,
    ZOOKEEPER_NEEDS,
    Verdict,
    foreign_protocol,
    may_be_zookeeper,
    request_at,
    response_frames,
    token_at,
)
from kdissect.session.info import ConnectionKind

if TYPE_CHECKING:
    from kdissect.session.detection.proxy_header import ProxyHeaders

HELD_BYTES = 64 << 10  # bytes held back per connection, of which the oldest go first
HELD_PIECES = 4096  # pieces and holes held back: a capture with headers only has no byte to count
GIVE_UP_BYTES = 4 << 20  # bytes from the middle of a connection without one plausible request: not Kafka


class _Held(NamedTuple):
    direction: int
    payload: bytes  # empty for a gap
    gap: int
    snapped: bool
    ref: int
    time_ns: int


class Detection:
    """The undecided beginning of one connection.

    `client` is set with a verdict if the bytes name the client. `is_proven`: the bytes prove that it is
    Kafka, they do not only look like it.
    """

    __slots__ = (
        "_begun", "_candidates", "_headless", "_heads", "_held", "_held_bytes", "_seen", "_verdicts",
        "client", "heard", "is_proven", "listener", "proxied",
    )  # fmt: skip

    def __init__(self) -> None:
        self.client: int | None = None
        self.is_proven = False
        self.listener: int | None = (
            None  # the direction of the end that accepted the connection, if that was seen
        )
        self.heard = 0  # a bit for each direction that bytes came of
        self.proxied: ProxyHeaders | None = None  # PROXY protocol headers that are incomplete
        self._heads = [b"", b""]
        self._begun = [b"", b""]  # from the middle: bytes too few to recognize the beginning of a frame
        self._candidates: list[Candidate | None] = [None, None]
        self._headless: tuple[int, ...] = ()  # opened, but bytes were not captured
        self._verdicts = [Verdict.MORE, Verdict.MORE]
        self._held: list[_Held] = []
        self._held_bytes = 0
        self._seen = 0

    @property
    def has_data(self) -> bool:
        """Whether any byte came."""
        return self._seen > 0

    def hold(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        """Keep bytes for the replay."""
        self._seen += len(payload)
        self._held.append(_Held(direction, payload, 0, False, ref, time_ns))
        self._held_bytes += len(payload)
        while self._held_bytes > HELD_BYTES and len(self._held) > 1:
            # Only readers that start in the middle get here (see `feed`): they search, so the oldest may go.
            self._held_bytes -= len(self._held.pop(0).payload)

    def feed(
        self, direction: int, payload: bytes, ref: int, time_ns: int, is_open: bool
    ) -> ConnectionKind | None:
        """Take the next bytes. Return the kind as soon as it is certain."""
        if any(self._heads) and self._held_bytes + len(payload) > HELD_BYTES:
            return ConnectionKind.UNKNOWN
        self.hold(direction, payload, ref, time_ns)
        if not is_open or direction in self._headless:
            return self._from_middle(direction, payload, cut=False)
        head = self._heads[direction]
        if len(head) < JUDGED_BYTES:
            self._heads[direction] = head = (head + payload)[:JUDGED_BYTES]
        return self._from_start(direction, head, cut=False)

    def feed_gap(
        self, direction: int, length: int, snapped: bool, ref: int, time_ns: int, is_open: bool
    ) -> ConnectionKind | None:
        """Take missing bytes: no more bytes come before them."""
        last = next((held.payload for held in reversed(self._held) if held.direction == direction), b"")
        before = self._begun[direction] or last
        self._begun[direction] = b""
        self._hold_gap(direction, length, snapped, ref, time_ns)
        is_from_start = is_open and direction not in self._headless
        if direction not in self._headless:
            self._headless = (*self._headless, direction)
        if is_from_start and self._heads[direction]:
            return self._from_start(direction, self._heads[direction], cut=True)
        return self._from_middle(direction, before, cut=True) if before else None

    def _hold_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Store a hole for the replay. Adjacent holes become one (headers alone were captured)."""
        if self._held:
            last = self._held[-1]
            if last.direction == direction and last.gap > 0 and length > 0 and not last.payload:
                self._held[-1] = last._replace(gap=last.gap + length, snapped=last.snapped and snapped)
                return
        self._held.append(_Held(direction, b"", length, snapped, ref, time_ns))
        if len(self._held) > HELD_PIECES:
            self._held_bytes -= len(self._held.pop(0).payload)

    def _from_start(self, direction: int, head: bytes, cut: bool) -> ConnectionKind | None:
        foreign = foreign_protocol(head)
        if foreign is not None:
            return foreign
        if self._verdicts[direction] is Verdict.MORE:
            self._verdicts[direction] = self._of_head(direction, head, cut)
        self._answer(direction, head, is_first=True)
        return self._decided()

    def _answer(self, direction: int, data: bytes, is_first: bool) -> None:
        """Take bytes of one direction, which may answer a request of the other."""
        other = self._candidates[1 - direction]
        # The end that accepted the connection sends no requests: no answer proves that it does.
        if other is not None and self.listener != 1 - direction:
            other.answered(data, is_first)
            self._verdicts[1 - direction] = other.verdict()

    def _of_head(self, direction: int, head: bytes, cut: bool) -> Verdict:
        """Judge the first bytes of a direction."""
        candidate = self._candidates[direction]
        if candidate is None:
            verdict = request_at(head, 0, cut, any_bytes=True)
            if verdict is Verdict.NO:
                token = token_at(head)
                return Verdict.NO if cut and token is Verdict.MORE else token
            if verdict is Verdict.MORE:
                return verdict
            if len(head) < ZOOKEEPER_NEEDS and not cut and may_be_zookeeper(head):
                return Verdict.MORE
            candidate = self._candidates[direction] = Candidate(head, cut)
            if direction != self.listener:
                candidate.answered(self._heads[1 - direction], is_first=True)
        else:
            candidate.is_cut = cut
            candidate.data = head
        return candidate.verdict()

    def _from_middle(self, direction: int, payload: bytes, cut: bool) -> ConnectionKind | None:
        foreign = foreign_protocol(payload)
        if foreign is not None:
            return foreign
        start, verdict = payload, request_at(payload, 0, cut, any_bytes=True)
        self._answer(direction, payload, is_first=False)
        if self._begun[direction]:
            begun = self._begun[direction] + payload
            self._answer(direction, begun, is_first=False)
            goes_on = request_at(begun, 0, cut, any_bytes=True)
            if verdict is not Verdict.YES and goes_on is not Verdict.NO:
                start, verdict = begun, goes_on
        self._begun[direction] = start if verdict is Verdict.MORE else b""
        candidate = self._candidates[direction]
        if verdict is Verdict.YES:
            candidate = self._candidates[direction] = Candidate(start, cut)
        elif candidate is not None:
            candidate.more(payload)
        if candidate is not None:
            verdict = candidate.verdict()
            if verdict is Verdict.NO:  # another segment may be the first of a frame
                self._candidates[direction] = None
                verdict = Verdict.MORE
            self._verdicts[direction] = verdict
        return self._decided()

    def _decided(self) -> ConnectionKind | None:
        """Return the kind, if the verdicts on both directions decide it."""
        verdicts = self._verdicts
        if Verdict.YES in verdicts:
            self.client = verdicts.index(Verdict.YES)
            self.is_proven = True
            return ConnectionKind.KAFKA
        if self._seen > GIVE_UP_BYTES:
            return ConnectionKind.UNKNOWN
        is_refuted = verdicts == [Verdict.NO, Verdict.NO] and all(self._heads)
        return ConnectionKind.UNKNOWN if is_refuted else None

    def conclude(self, client_direction: int) -> tuple[ConnectionKind, int]:
        """End the connection: return the best verdict there is, and the client's direction."""
        sent = self._sent(0), self._sent(1)
        for side, candidate in enumerate(self._candidates):
            if candidate is not None and candidate.is_likely(is_silent=not sent[1 - side]):
                return ConnectionKind.KAFKA, side
        for side in (0, 1):
            if response_frames(sent[side]) >= MIN_LONE_RESPONSES and not sent[1 - side]:
                return ConnectionKind.KAFKA, 1 - side
        return ConnectionKind.UNKNOWN, client_direction

    def has_response(self, direction: int) -> bool:
        """Return whether the held bytes of a direction begin with a whole response."""
        return response_frames(self._sent(direction)) > 0

    def begins_with_token(self, direction: int) -> bool:
        """Return whether the held bytes of a direction begin with a GSSAPI token."""
        head = b""
        for held in self._held:
            if held.direction == direction:
                head += held.payload[:TOKEN_NEEDS]
                if held.gap or len(head) >= TOKEN_NEEDS:
                    break
        return token_at(head) is Verdict.YES

    def _sent(self, direction: int) -> bytes:
        return b"".join(held.payload for held in self._held if held.direction == direction)

    def replay(self, readers: tuple[StreamSink, StreamSink], client: int) -> None:
        """Give the buffered bytes to the readers."""
        held, self._held = self._held, []
        for direction in (client, 1 - client):
            for item in held:
                if item.direction == direction:
                    _give(item, readers[direction])

    def replay_in_order(self, readers: tuple[StreamSink, StreamSink]) -> None:
        """Give the buffered bytes to the readers in the order in which they came."""
        held, self._held = self._held, []
        for item in held:
            _give(item, readers[item.direction])


def _give(item: _Held, reader: StreamSink) -> None:
    if item.gap:
        reader.gap(item.gap, item.snapped, item.ref, item.time_ns)
    else:
        reader.data(item.payload, item.ref, item.time_ns)
