"""Reads captures once more and gives the packets of excerpts."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from kdissect.engine.analyzer import Analyzer
from kdissect.excerpt.cutter import StreamCutter
from kdissect.excerpt.headers import MAX_PAYLOAD, Headers, headers_of
from kdissect.excerpt.piece import Piece
from kdissect.excerpt.plan import ConnectionPlan
from kdissect.model.packet import Packet, PlainPacket
from kdissect.model.segment import ACK, FIN, RST, SYN, PlainSegment, Segment
from kdissect.model.stream import CloseKind
from kdissect.net.tcp import TcpConnection
from kdissect.session.connection import ConnectionAnalyzer
from kdissect.session.events import ConnectionClosed, Event

# Packets whose headers are remembered until their bytes are delivered: as many as wait behind a hole at most
# (net/reassembly).
HEADERS_KEPT = 8192
_Feed = Callable[[int, PlainSegment, int, int], None]


class ExcerptPacket:
    """A packet of an excerpt. `exchange` is -1 where it belongs to none; `is_request` says whose bytes."""

    __slots__ = ("connection", "exchange", "is_request", "packet")

    def __init__(self, packet: Packet, connection: str, exchange: int, is_request: bool) -> None:
        self.packet = packet
        self.connection = connection
        self.exchange = exchange
        self.is_request = is_request


class _Recorder:
    """One connection of one excerpt."""

    def __init__(self, plan: ConnectionPlan, show_secrets: bool) -> None:
        self.plan = plan
        self.packets: list[ExcerptPacket] = []
        self._cutters = tuple(StreamCutter(plan, side, show_secrets, self._emit) for side in (0, 1))
        self._tcp = TcpConnection((self._cutters[0], self._cutters[1]))
        self._headers: OrderedDict[int, tuple[int, Headers]] = OrderedDict()
        self._next: list[int | None] = [None, None]  # sequence number of each direction's next byte
        self._acknowledged = False

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """Take a segment of the connection, and the packet it came in."""
        ref, time_ns, link_type, data, _ = packet
        self._headers[ref] = direction, headers_of(link_type, data, segment)
        if len(self._headers) > HEADERS_KEPT:
            self._headers.popitem(last=False)
        _, seq, _, flags, *_ = segment
        if flags & SYN:
            self._open(direction, seq, flags, ref, time_ns)
        elif self._next[direction] is None:
            self._next[direction] = seq
        elif not self.packets or self._acknowledged or flags & (FIN | RST) or segment[5]:
            pass
        elif all(number is not None for number in self._next):
            self._acknowledged = True  # the third packet of the handshake
            self._emit(Piece(ref, time_ns, direction, b"", 0, ACK))
        self._tcp.feed(direction, segment, ref, time_ns)

    def close(self) -> None:
        """The connection is over."""
        self._tcp.flush(CloseKind.CAPTURE_END, self._tcp.last_time_ns)

    def _open(self, direction: int, seq: int, flags: int, ref: int, time_ns: int) -> None:
        if self._next[direction] is not None:  # sent again
            return
        self._next[direction] = seq
        self._emit(Piece(ref, time_ns, direction, b"", 0, flags & (SYN | ACK)))
        self._next[direction] = seq + 1

    def _emit(self, piece: Piece) -> None:
        found = self._headers.get(piece.ref)
        if found is None or found[0] != piece.direction:  # a RST ends both directions, and has one
            return
        seq = (self._next[piece.direction] or 0) + piece.skip
        for at in range(0, max(len(piece.payload), 1), MAX_PAYLOAD):
            part = piece.payload[at : at + MAX_PAYLOAD]
            self._write(found[1], seq + at, part, piece)
        end = seq + len(piece.payload) + bool(piece.flags & FIN)
        self._next[piece.direction] = end

    def _write(self, headers: Headers, seq: int, payload: bytes, piece: Piece) -> None:
        ack = (self._next[1 - piece.direction] or 0) if piece.flags & ACK else 0
        data = headers.packet(seq, ack, piece.flags, payload)
        packet = Packet(piece.ref, piece.time_ns, headers.link_type, data, len(data))
        made = ExcerptPacket(packet, self.plan.connection, piece.exchange, piece.is_request)
        self.packets.append(made)


class _Tap(Analyzer):
    """An analyzer that lets recorders listen to some connections."""

    def __init__(
        self,
        ports: frozenset[int],
        capture_set_of: Callable[[int], str],
        recorders: dict[str, list[_Recorder]],
    ) -> None:
        super().__init__(ports, capture_set_of)
        self._recorders = recorders
        self._batch: Sequence[PlainPacket] = ()
        self._by_ref: dict[int, PlainPacket] = {}

    def feed_batch(self, packets: Sequence[PlainPacket]) -> list[Event]:
        """The same, with the packets at hand."""
        self._batch, self._by_ref = packets, {}
        return super().feed_batch(packets)

    def _open(self, segment: Segment, time_ns: int) -> tuple[_Feed, int, ConnectionAnalyzer]:
        flow = super()._open(segment, time_ns)
        feed, direction, connection = flow
        listening = self._recorders.get(connection.info.id)
        if not listening:
            return flow
        heard = self._listened(feed, listening)
        for key, (_, side, other) in list(self._flows.items()):
            if other is connection:
                self._flows[key] = heard, side, connection
        return heard, direction, connection

    def _listened(self, feed: _Feed, listening: list[_Recorder]) -> _Feed:
        def heard(direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
            packet = self._packet(ref)
            for recorder in listening:
                recorder.feed(direction, segment, packet)
            feed(direction, segment, ref, time_ns)

        return heard

    def _packet(self, ref: int) -> PlainPacket:
        if not self._by_ref:
            self._by_ref = {packet[0]: packet for packet in self._batch}
        return self._by_ref[ref]


def read_excerpts(
    plans: Sequence[Sequence[ConnectionPlan] | None],
    batches: Iterable[Sequence[PlainPacket]],
    ports: frozenset[int],
    capture_set_of: Callable[[int], str],
    show_secrets: bool,
) -> list[list[ExcerptPacket]]:
    """The packets of each excerpt, those of several connections sorted by time. Raises nothing."""
    made = [[_Recorder(plan, show_secrets) for plan in group or ()] for group in plans]
    recorders: dict[str, list[_Recorder]] = {}
    for recorder in chain.from_iterable(made):
        recorders.setdefault(recorder.plan.connection, []).append(recorder)
    tap = _Tap(ports, capture_set_of, recorders)
    for packets in batches:
        _close(tap.feed_batch(packets), recorders)
    _close(tap.close(), recorders)
    return [_merged([recorder.packets for recorder in group]) for group in made]


def _close(events: Iterable[Event], recorders: dict[str, list[_Recorder]]) -> None:
    for event in events:
        if isinstance(event, ConnectionClosed):
            for recorder in recorders.get(event.connection.id, ()):
                recorder.close()


def _merged(parts: list[list[ExcerptPacket]]) -> list[ExcerptPacket]:
    """Connections side by side by the running maximum of time, so that none is reordered."""
    if len(parts) == 1:
        return parts[0]
    keyed = []
    for part in parts:
        latest = 0
        for item in part:
            latest = max(latest, item.packet.time_ns)
            keyed.append((latest, item))
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]
