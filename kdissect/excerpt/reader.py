"""Reads captures once more and gives the packets of excerpts."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kdissect.engine.analyzer import Analyzer
from kdissect.engine.flows import Fed, Open
from kdissect.excerpt.cutter import StreamCutter
from kdissect.excerpt.headers import MAX_PAYLOAD, Headers, headers_of
from kdissect.excerpt.piece import Piece
from kdissect.excerpt.plan import ConnectionPlan, FramePlan
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packet import NEVER_NS, Packet, PlainPacket
from kdissect.model.ports import Ports
from kdissect.model.segment import ACK, FIN, RST, SYN, PlainSegment, Segment, reverse_flow
from kdissect.model.stream import CloseKind, StreamSink
from kdissect.net.tcp import TcpConnection
from kdissect.session.events import ConnectionClosed, Event

if TYPE_CHECKING:
    from kdissect.tls.keying import SecretSource

# Packets whose headers are remembered until their bytes are delivered: as many as wait behind a hole at most
# (net/reassembly).
HEADERS_KEPT = 8192


class Listener(Protocol):
    """Hears the segments of a connection."""

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """A segment, and the packet it came in."""


class ExcerptPacket:
    """A packet of an excerpt. `exchange` is -1 where it belongs to none; `is_request` says whose bytes.

    `frame` is the one that begins in it, if one does; `was_tls` says that it was captured encrypted.
    """

    __slots__ = ("connection", "exchange", "frame", "is_request", "packet", "was_tls")

    def __init__(self, packet: Packet, plan: ConnectionPlan, piece: Piece, frame: FramePlan | None) -> None:
        self.packet = packet
        self.connection = plan.connection
        self.was_tls = plan.is_tls
        self.exchange = piece.exchange
        self.is_request = piece.is_request
        self.frame = frame


Write = Callable[[ExcerptPacket], None]


class Recorder:
    """One connection of one excerpt; its packets go to `write`. `secrets` open those that are TLS."""

    def __init__(
        self, plan: ConnectionPlan, show_secrets: bool, write: Write, secrets: "SecretSource | None" = None
    ) -> None:
        self.plan = plan
        self._give = write
        self._has_begun = False
        cutters = [StreamCutter(plan, side, show_secrets, self._emit) for side in (0, 1)]
        sinks: tuple[StreamSink, StreamSink] = cutters[0], cutters[1]
        self._tcp = TcpConnection(_decrypted(sinks, secrets) if plan.is_tls else sinks)
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
        elif not self._has_begun or self._acknowledged or flags & (FIN | RST) or segment[5]:
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
            self._write(found[1], seq + at, part, piece, None if at else piece.frame)
        end = seq + len(piece.payload) + bool(piece.flags & FIN)
        self._next[piece.direction] = end

    def _write(
        self, headers: Headers, seq: int, payload: bytes, piece: Piece, frame: FramePlan | None
    ) -> None:
        ack = (self._next[1 - piece.direction] or 0) if piece.flags & ACK else 0
        data = headers.packet(seq, ack, piece.flags, payload)
        packet = Packet(piece.ref, piece.time_ns, headers.link_type, data, len(data))
        self._has_begun = True
        self._give(ExcerptPacket(packet, self.plan, piece, frame))


def _decrypted(
    sinks: tuple[StreamSink, StreamSink], secrets: "SecretSource | None"
) -> tuple[StreamSink, StreamSink]:
    """What takes ciphertext and gives plaintext to `sinks`."""
    from kdissect.tls.connection import TlsConnection
    from kdissect.tls.info import TlsInfo

    def note(_kind: AnomalyKind, _detail: str, _ref: int, _time_ns: int) -> None:
        """The first reading told already."""

    return TlsConnection(TlsInfo(), sinks, secrets, note, lambda: None).sides


class _Heard:
    """Lets others hear the segments of a connection first; `packet` gives a packet by its reference."""

    def __init__(self, tcp: Fed, listening: Sequence[Listener], packet: Callable[[int], PlainPacket]) -> None:
        self._tcp = tcp
        self._listening = listening
        self._packet = packet

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next segment of a direction."""
        packet = self._packet(ref)
        for recorder in self._listening:
            recorder.feed(direction, segment, packet)
        self._tcp.feed(direction, segment, ref, time_ns)


class Tap(Analyzer):
    """An analyzer that lets others listen to some connections.

    `recorders` gives those who listen to a connection, asked when it opens.
    """

    def __init__(
        self,
        ports: Ports,
        capture_set_of: Callable[[int], str],
        recorders: Callable[[str], Sequence[Listener]],
    ) -> None:
        super().__init__(ports, capture_set_of)
        self._recorders = recorders
        self._holds_syns = False  # who listens must hear each packet as it comes
        self._batch: Sequence[PlainPacket] = ()
        self._by_ref: dict[int, PlainPacket] = {}

    def feed_batch(self, packets: Sequence[PlainPacket]) -> list[Event]:
        """The same, with the packets at hand."""
        self._batch, self._by_ref = packets, {}
        return super().feed_batch(packets)

    def _open(self, segment: Segment, time_ns: int, place: tuple[int, int]) -> Open:
        flow = super()._open(segment, time_ns, place)
        tcp, direction, connection, _ = flow
        listening = self._recorders(connection.info.id)
        if not listening:
            return flow
        heard = _Heard(tcp, listening, self._packet)
        for side, key in enumerate((segment.flow, reverse_flow(segment.flow))):
            self._flows[key] = heard, side, connection, None
        return heard, direction, connection, None

    def _packet(self, ref: int) -> PlainPacket:
        if not self._by_ref:
            self._by_ref = {packet[0]: packet for packet in self._batch}
        return self._by_ref[ref]


def read_excerpts(
    plans: Sequence[Sequence[ConnectionPlan] | None],
    batches: Iterable[Sequence[PlainPacket]],
    ports: Ports,
    capture_set_of: Callable[[int], str],
    show_secrets: bool,
    secrets: "SecretSource | None" = None,
) -> list[list[ExcerptPacket]]:
    """The packets of each excerpt, those of several connections sorted by time. Raises nothing.

    Of connections that `secrets` open the plaintext is given, in the packets that brought it.
    """
    made: list[list[list[ExcerptPacket]]] = [[[] for _ in group or ()] for group in plans]
    recorders: dict[str, list[Recorder]] = {}
    for group, lists in zip(plans, made, strict=True):
        for one, packets in zip(group or (), lists, strict=True):
            recorder = Recorder(one, show_secrets, packets.append, secrets)
            recorders.setdefault(one.connection, []).append(recorder)
    listen(ports, capture_set_of, recorders, batches)
    return [_merged(parts) for parts in made]


def listen(
    ports: Ports,
    capture_set_of: Callable[[int], str],
    recorders: dict[str, list[Recorder]],
    batches: Iterable[Sequence[PlainPacket]],
) -> None:
    """Read packets and let recorders hear those of their connections, to the end. Raises nothing."""
    tap = Tap(ports, capture_set_of, lambda connection: recorders.get(connection, ()))
    for packets in batches:
        _close(tap.feed_batch(packets), recorders)
    _close(tap.close(), recorders)


def _close(events: Iterable[Event], recorders: dict[str, list[Recorder]]) -> None:
    for event in events:
        if isinstance(event, ConnectionClosed):
            for recorder in recorders.pop(event.connection.id, ()):
                recorder.close()


def _merged(parts: list[list[ExcerptPacket]]) -> list[ExcerptPacket]:
    """Connections side by side by the running maximum of time, so that none is reordered."""
    if len(parts) == 1:
        return parts[0]
    keyed = []
    for part in parts:
        latest = NEVER_NS
        for item in part:
            latest = max(latest, item.packet.time_ns)
            keyed.append((latest, item))
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]
