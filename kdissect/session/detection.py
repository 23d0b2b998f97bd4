"""Decides what a connection carries while its first bytes are held back.

Rules:
- From the start of a connection the verdict depends on the bytes alone, never on how TCP cut them.
- From the middle, each segment's first byte is tried as the start of a request.
- Bytes held back are replayed once the kind is known, the client's first: a request must be known before its
  response.
"""

from typing import NamedTuple

from kdissect.model.stream import StreamSink
from kdissect.session.detect import (
    KAFKA_PORT,
    MIN_LONE_RESPONSES,
    ZOOKEEPER_NEEDS,
    Verdict,
    foreign_protocol,
    is_certain_request,
    may_be_zookeeper,
    request_at,
    response_frames,
)
from kdissect.session.info import ConnectionKind

HEAD_KEPT = 2048  # bytes of a direction's start that are judged: header, client id and every signature fit
HELD_BYTES = 64 << 10  # bytes held back per connection; the oldest go first
HELD_PIECES = 4096  # pieces and holes held back: of a capture of headers alone there is no byte to count
GIVE_UP_BYTES = 4 << 20  # bytes from the middle of a connection without one plausible request: not Kafka
SIZE_BYTES = 4  # INT32 (spec/004 "Frame Structure")


class _Held(NamedTuple):
    direction: int
    payload: bytes  # empty for a gap
    gap: int
    snapped: bool
    ref: int
    time_ns: int


class Detection:
    """The undecided beginning of one connection.

    `client` is set with a verdict where the bytes name the client.
    """

    __slots__ = ("_headless", "_heads", "_held", "_held_bytes", "_seen", "_verdicts", "client", "listener")

    def __init__(self) -> None:
        self.client: int | None = None
        self.listener: int | None = (
            None  # the direction of the end that accepted the connection, where that was seen
        )
        self._heads = [b"", b""]
        self._headless: tuple[int, ...] = ()  # opened, but the first bytes were not captured
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
        """The next bytes; the kind as soon as it is certain."""
        if any(self._heads) and self._held_bytes + len(payload) > HELD_BYTES:
            return ConnectionKind.UNKNOWN
        self.hold(direction, payload, ref, time_ns)
        if not is_open or direction in self._headless:
            return self._from_middle(direction, payload, cut=False)
        head = self._heads[direction]
        if len(head) < HEAD_KEPT:
            self._heads[direction] = head = (head + payload)[:HEAD_KEPT]
        return self._from_start(direction, head, cut=False)

    def feed_gap(
        self, direction: int, length: int, snapped: bool, ref: int, time_ns: int, is_open: bool
    ) -> ConnectionKind | None:
        """Missing bytes: what stands before them is all there will be."""
        before = next((held.payload for held in reversed(self._held) if held.direction == direction), b"")
        self._hold_gap(direction, length, snapped, ref, time_ns)
        if is_open and self._heads[direction]:
            return self._from_start(direction, self._heads[direction], cut=True)
        self._headless = (*{*self._headless, direction},)
        return self._from_middle(direction, before, cut=True) if before else None

    def _hold_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Keep a hole for the replay; holes next to each other are one (headers alone were captured)."""
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
        verdict = request_at(head, 0, cut)
        if verdict is Verdict.YES and direction == self.listener:
            verdict = _from_listener(head, cut)
        if verdict is Verdict.YES and len(head) < ZOOKEEPER_NEEDS and not cut and may_be_zookeeper(head):
            return None
        self._verdicts[direction] = verdict
        if verdict is Verdict.YES:
            self.client = direction
            return ConnectionKind.KAFKA
        if self._verdicts == [Verdict.NO, Verdict.NO] or self._seen > GIVE_UP_BYTES:
            return ConnectionKind.UNKNOWN
        return None

    def _from_middle(self, direction: int, payload: bytes, cut: bool) -> ConnectionKind | None:
        foreign = foreign_protocol(payload)
        if foreign is not None:
            return foreign
        if request_at(payload, 0, cut) is Verdict.YES and is_certain_request(payload, 0):
            self.client = direction
            return ConnectionKind.KAFKA
        return ConnectionKind.UNKNOWN if self._seen > GIVE_UP_BYTES else None

    def conclude(self, client_direction: int, ports: tuple[int, int]) -> tuple[ConnectionKind, int]:
        """The connection is over: the best verdict there is, and the client's direction.

        `ports` are the source ports of the two directions.
        """
        for direction in (0, 1):
            data = b"".join(held.payload for held in self._held if held.direction == direction)
            if response_frames(data) >= (1 if ports[direction] == KAFKA_PORT else MIN_LONE_RESPONSES):
                return ConnectionKind.KAFKA, 1 - direction
        return ConnectionKind.UNKNOWN, client_direction

    def replay(self, readers: tuple[StreamSink, StreamSink], client: int) -> None:
        """Give the held bytes to the readers."""
        held, self._held = self._held, []
        for direction in (client, 1 - client):
            for item in held:
                if item.direction == direction:
                    _give(item, readers[direction])

    def replay_in_order(self, readers: tuple[StreamSink, StreamSink]) -> None:
        """Give the held bytes to the readers in the order in which they came."""
        held, self._held = self._held, []
        for item in held:
            _give(item, readers[item.direction])


def _give(item: _Held, reader: StreamSink) -> None:
    if item.gap:
        reader.gap(item.gap, item.snapped, item.ref, item.time_ns)
    else:
        reader.data(item.payload, item.ref, item.time_ns)


def _from_listener(head: bytes, cut: bool) -> Verdict:
    """Whether the end that was connected to sends requests: a whole frame must tell, however it came."""
    is_whole = len(head) >= HEAD_KEPT or len(head) - SIZE_BYTES >= int.from_bytes(head[:SIZE_BYTES])
    if not is_whole and not cut:
        return Verdict.MORE
    return Verdict.YES if is_certain_request(head, 0) else Verdict.NO
