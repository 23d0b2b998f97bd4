"""Reads captures once more and returns the packets of excerpts."""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kdissect.engine.analyzer import NO_ENDS, Analyzer, is_answer
from kdissect.engine.flows import Connection, FlowTable
from kdissect.excerpt.cutter import Piece, StreamCutter
from kdissect.excerpt.frame_plans import ConnectionPlan, FramePlan
from kdissect.excerpt.packet_headers import MAX_PAYLOAD, Headers, headers_of
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.endpoint import Ports
from kdissect.model.native import native
from kdissect.model.packets.packet import NEVER_NS, Packet, PlainPacket
from kdissect.model.packets.segment import ACK, FIN, RST, SYN, PlainSegment
from kdissect.model.packets.stream import CloseKind, Filling, Hole, Part, StreamSink
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.store import Store
from kdissect.net.streams.reassembly import Reassembly
from kdissect.net.streams.tcp import TcpConnection
from kdissect.session.events import Event
from kdissect.session.handover import FEW_TAKEN, MANY_PACKETS
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.tls.keying import SecretSource


UNKNOWN = -1  # a sequence number that no packet showed yet
# Packets whose headers are remembered until their bytes are delivered: the maximum that waits after a hole
# (net/reassembly).
_HEADERS_KEPT = 8192


# A connection on its way to the compiled copier and back: whole, as data.
class CopiedDirection(NamedTuple):
    """State of a copied direction: `next_seq`, `offset` and `packets` of the stream. `written` is the
    sequence number of the next byte to write. `frame` is the current plan, packed, and the number of its
    bytes that were read.
    """

    next_seq: int
    offset: int
    packets: int
    written: int = UNKNOWN
    frame: tuple[bytes, int] | None = None


class CopiedState(NamedTuple):
    """State of a copied connection. `kept` is None if no packet of it is written. Else it has the
    connection's id as comments show it, whether a packet of it was written, and whether the handshake's third
    was, if there is one.
    """

    last_time_ns: int
    directions: tuple[CopiedDirection, CopiedDirection]
    kept: tuple[bytes, bool, bool] | None


_DirectionRow = tuple[int, int, int, int, tuple[bytes, int] | None]
CopiedRow = tuple[int, tuple[_DirectionRow, _DirectionRow], tuple[bytes, bool, bool] | None]
"""A `CopiedState` as it comes back: without its names."""


class Listener(Protocol):
    """Hears the segments of a connection, and the streams they make."""

    sinks: tuple[StreamSink, StreamSink]

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """Take a segment and its packet. The streams get its bytes afterwards."""

    def fed(self, waits: bool) -> None:
        """End a segment: the streams have all bytes that are ready. `waits`: some bytes of the connection
        wait.
        """


class _Nobody(StreamSink):
    """A stream without a reader."""

    __slots__ = ()

    def opened(self) -> None:
        pass

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        pass

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> None:
        pass

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        return Filling.DROPPED

    def forget(self, hole: Hole) -> None:
        pass

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        pass


NOBODY = _Nobody(), _Nobody()


class ExcerptPacket:
    """A packet of an excerpt. `exchange` is -1 if it belongs to none. `is_request` names the direction of its
    bytes.

    `frame` is the one that begins in it, if one does. `was_tls` means that it was captured encrypted.
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
    """One connection of one excerpt. `write` takes its packets. `secrets` open a TLS connection."""

    __slots__ = (
        "_acknowledged", "_cutters", "_give", "_has_begun", "_headers", "_next", "_show_secrets", "plan",
        "sinks",
    )  # fmt: skip

    def __init__(
        self, plan: ConnectionPlan, show_secrets: bool, write: Write, secrets: "SecretSource | None" = None
    ) -> None:
        self.plan = plan
        self._show_secrets = show_secrets  # comments, which name processes and their arguments, may hold some
        self._give = write
        self._has_begun = False
        emit = self._emit
        self._cutters = (
            StreamCutter(plan, 0, show_secrets, emit), StreamCutter(plan, 1, show_secrets, emit),
        )  # fmt: skip
        self.sinks: tuple[StreamSink, StreamSink] = self._cutters
        if plan.is_tls:
            self.sinks = _decrypted(self._cutters, secrets)
        # Direction and headers of packets whose bytes may yet be emitted. None: no packets.
        self._headers: OrderedDict[int, tuple[int, Headers]] | None = None
        self._next: list[int | None] = [None, None]  # sequence number of each direction's next byte
        self._acknowledged = False

    def feed(self, direction: int, segment: PlainSegment, packet: PlainPacket) -> None:
        """Take a segment of the connection, and the packet it came in."""
        ref, time_ns, link_type, data, _ = packet
        if self._headers is None:
            self._headers = OrderedDict()
        self._headers[ref] = direction, headers_of(link_type, data, segment)
        if len(self._headers) > _HEADERS_KEPT:
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

    def fed(self, waits: bool) -> None:
        """Forget the headers of packets whose bytes are all emitted.

        TLS does not show which headers these are.
        """
        if not waits and not self.plan.is_tls and not any(cutter.holds_back for cutter in self._cutters):
            self._headers = None

    # the compiled copier

    @property
    def can_be_lent(self) -> bool:
        """Whether the next bytes can be copied unchanged."""
        first, second = self._cutters
        is_as_captured = self._show_secrets and not self.plan.is_tls and self._headers is None
        return is_as_captured and first.can_be_lent and second.can_be_lent

    def state(self) -> tuple[tuple[bytes, bool, bool], list[tuple[int, tuple[bytes, int] | None]]]:
        """Return the state for the copier: see `CopiedState`, and the last two fields of each direction."""
        written = [UNKNOWN if number is None else number for number in self._next]
        frames = [cutter.state() for cutter in self._cutters]
        kept = self.plan.connection.encode(), self._has_begun, self._acknowledged
        return kept, list(zip(written, frames, strict=True))

    def take_over(self, state: CopiedState) -> None:
        """Go on from the copier's position."""
        assert state.kept is not None, "lent with it"
        _, self._has_begun, self._acknowledged = state.kept
        for at, (cutter, of) in enumerate(zip(self._cutters, state.directions, strict=True)):
            self._next[at] = None if of.written == UNKNOWN else of.written
            cutter.take_over(of.frame)

    def _open(self, direction: int, seq: int, flags: int, ref: int, time_ns: int) -> None:
        if self._next[direction] is not None:  # sent again
            return
        self._next[direction] = seq
        self._emit(Piece(ref, time_ns, direction, b"", 0, flags & (SYN | ACK)))
        self._next[direction] = seq + 1

    def _emit(self, piece: Piece) -> None:
        found = None if self._headers is None else self._headers.get(piece.ref)
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
        link_type, wire, commented = headers.link_type, len(data), headers.commented
        if commented is not None and self._show_secrets:
            link_type, data = commented.around(link_type, data)
        packet = Packet(piece.ref, piece.time_ns, link_type, data, wire)
        self._has_begun = True
        self._give(ExcerptPacket(packet, self.plan, piece, frame))


def _decrypted(
    sinks: tuple[StreamSink, StreamSink], secrets: "SecretSource | None"
) -> tuple[StreamSink, StreamSink]:
    """Return sinks that take ciphertext and pass plaintext to `sinks`."""
    # at first use: the optional package `cryptography`
    from kdissect.tls.tls_connection import TlsConnection
    from kdissect.tls.tls_info import TlsInfo

    def note(_kind: AnomalyKind, _detail: str, _ref: int, _time_ns: int) -> None:
        """Ignore an anomaly: the first reading reported it already."""

    return TlsConnection(TlsInfo(), sinks, secrets, note, lambda: None).sides


class _HoleOfAll(Hole):
    """The holes of several readers, None for a reader that has no use for later bytes."""

    __slots__ = ("holes",)

    def __init__(self, holes: list[Hole | None]) -> None:
        super().__init__()
        self.holes = holes


class _Both(StreamSink):
    """Sink that passes a stream on to several readers."""

    def __init__(self, sinks: Sequence[StreamSink]) -> None:
        self._sinks = sinks

    def opened(self) -> None:
        for sink in self._sinks:
            sink.opened()

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        for sink in self._sinks:
            sink.data(payload, ref, time_ns)

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> Hole:
        return _HoleOfAll(
            [sink.gap(length, snapped, ref, time_ns, can_fill=can_fill) for sink in self._sinks]
        )

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        assert isinstance(hole, _HoleOfAll), "given by `gap`"
        for sink, one in zip(self._sinks, hole.holes, strict=True):
            if one is not None:
                sink.fill(one, parts)
        return Filling.DROPPED

    def forget(self, hole: Hole) -> None:
        assert isinstance(hole, _HoleOfAll), "given by `gap`"
        for sink, one in zip(self._sinks, hole.holes, strict=True):
            if one is not None:
                sink.forget(one)

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        for sink in self._sinks:
            sink.end(how, ref, time_ns)


class _Heard:
    """A connection that is reassembled for its listeners, and not analysed.

    It replaces a `ConnectionAnalyzer`. `flush` hands the remaining bytes to the listeners. While its packets
    are in order, the native copier owns it, if it has no listener or only a `Recorder`.
    """

    __slots__ = (
        "_copied", "_flow", "_listening", "_over", "_packet", "_patience", "_streams", "_wait", "info", "tcp",
    )  # fmt: skip

    def __init__(
        self,
        info: ConnectionInfo,
        listening: Sequence[Listener],
        packet: Callable[[int], PlainPacket],
        over: list["_Heard"],
        store: Store,
        log: AnomalyLog,
        copied: "native.CopiedFlows | None",
        flow: bytes,
    ) -> None:
        self.info = info
        self._listening = listening
        self._packet = packet
        self._over = over
        # The first reading noted what is wrong with it.
        self.tcp = TcpConnection(_sinks(listening), store, log, remembers=False)
        self._copied = copied
        self._flow = flow  # of direction 0
        self._streams: tuple[Reassembly, Reassembly] | None = None  # while it is native-owned
        self._patience = self._wait = 0  # packets until the next handover

    @property
    def last_ns(self) -> int:
        """Time of the connection's last packet."""
        if self._copied is not None and self._streams is not None:
            return self._copied.last_time_ns(self._flow)
        return self.tcp.last_time_ns or self.info.start_ns

    @property
    def is_over(self) -> bool:
        """Both directions ended."""
        return self._streams is None and self.tcp.closed

    held = None
    """The native copier finds connections separately."""

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next segment of a direction."""
        self.take_back()
        tcp = self.tcp
        if self._listening:
            packet = self._packet(ref)
            for listener in self._listening:
                listener.feed(direction, segment, packet)
        tcp.feed(direction, segment, ref, time_ns)
        for listener in self._listening:
            listener.fed(tcp.troubled)
        self._wait -= 1
        if self._copied is not None and self._wait < 0 and not tcp.troubled:
            self._lend(self._copied)

    def _lend(self, copied: "native.CopiedFlows") -> None:
        """Hand it over to the copier, if the copier can take it now."""
        recorder = self._listening[0] if self._listening else None
        if recorder is not None and not (isinstance(recorder, Recorder) and recorder.can_be_lent):
            return
        first, second = self.tcp.streams
        if first.ended or second.ended:
            return
        kept, (of_first, of_second) = recorder.state() if recorder is not None else (None, ((), ()))
        directions = (
            CopiedDirection(first.next_seq, first.offset, first.packets, *of_first),
            CopiedDirection(second.next_seq, second.offset, second.packets, *of_second),
        )
        copied.lend(self._flow, CopiedState(self.tcp.last_time_ns, directions, kept))
        self._streams = self.tcp.lend(self)

    def take_back(self) -> None:
        """Reclaim it, if the copier owns it."""
        if self._copied is None or self._streams is None:
            return
        (time_ns, directions, kept), taken = self._copied.take_back(self._flow)
        first, second = map(CopiedDirection._make, directions)
        for stream, of in zip(self._streams, (first, second), strict=True):
            stream.next_seq, stream.offset, stream.packets = of.next_seq, of.offset, of.packets
        self.tcp.take_over(self._streams, time_ns)
        self._streams = None
        for listener in self._listening:
            assert isinstance(listener, Recorder), "only a recorder is handed over"
            listener.take_over(CopiedState(time_ns, (first, second), kept))
        self._patience = min(2 * self._patience + 1, MANY_PACKETS) if taken < FEW_TAKEN else 0
        self._wait = self._patience

    def forget_delivered(self) -> None:
        """Do nothing: its streams remember no bytes."""

    def stay(self) -> None:
        """Do nothing: the native engine does not take it anyway."""

    def close(self, _how: CloseKind, _time_ns: int) -> None:
        """End the connection, which takes no more segments."""
        self.take_back()
        self._over.append(self)

    def flush(self) -> None:
        """Hand on the bytes that wait after holes."""
        self.tcp.flush(CloseKind.CAPTURE_END, self.tcp.last_time_ns)


def _sinks(listening: Sequence[Listener]) -> tuple[StreamSink, StreamSink]:
    if not listening:
        return NOBODY
    if len(listening) == 1:
        return listening[0].sinks
    return _Both([one.sinks[0] for one in listening]), _Both([one.sinks[1] for one in listening])


class Tap(Analyzer):
    """An analyzer that only separates connections, and passes some of them to listeners.

    `listening` returns the listeners of a connection in `wanted` when it opens. There are no events.
    """

    def __init__(
        self,
        ports: Ports,
        capture_set_of: Callable[[int], str],
        wanted: Container[str],
        listening: Callable[[str], Sequence[Listener]],
        copier: "native.Copier | None" = None,
    ) -> None:
        super().__init__(ports, capture_set_of)
        self._copier = copier
        self._copied: dict[str, native.CopiedFlows] = {}  # of each capture set
        self._wanted = wanted
        self._listening = listening
        self._batch: Sequence[PlainPacket] = ()
        self._by_ref: dict[int, PlainPacket] = {}
        self._over: list[_Heard] = []
        self._noted = AnomalyLog(0)
        self._packet = self._packet_of  # one method for all connections

    def feed_batch(self, packets: Sequence[PlainPacket]) -> list[Event]:
        """Feed packets, which listeners can look up meanwhile. Return no events."""
        self._batch, self._by_ref = packets, {}
        events = super().feed_batch(packets)
        self._events.clear()  # they are not used
        self._flush()
        return events

    def _in_order(
        self,
        runs: "native.PacketRuns",
        feed_unusual: Callable[[int], int],
        lend: Callable[[int], tuple[str, int, Any] | None],
    ) -> "native.InOrder | native.CopyInOrder":
        if self._copier is None:
            return super()._in_order(runs, feed_unusual, lend)
        return native.CopyInOrder(runs, self._copier, feed_unusual, lend)

    def _lent_of(self, capture_set: str, flows: FlowTable) -> Any:
        return super()._lent_of(capture_set, flows) if self._copier is None else self._copied_of(capture_set)

    def _copied_of(self, capture_set: str) -> "native.CopiedFlows":
        found = self._copied.get(capture_set)
        if found is None:
            found = self._copied[capture_set] = native.CopiedFlows()
        return found

    def close(self, ends: Mapping[str, int] = NO_ENDS) -> list[Event]:
        """Close the connections. Afterwards all listeners have all packets."""
        events = super().close(ends)
        self._flush()
        return events

    def _flush(self) -> None:
        for heard in self._over:
            heard.flush()
        self._over.clear()

    def _first(self, plain: PlainSegment, ref: int, time_ns: int) -> Connection | None:
        # who listens must hear each packet as it comes
        info = self._info(plain[0], is_answer(plain[3]), time_ns, self.place)
        self._holds_syns = info.id not in self._wanted
        return super()._first(plain, ref, time_ns)

    def _syns(self, _capture_set: str, _flows: FlowTable) -> None:
        """Do nothing: each SYN is for `_first`."""

    def _connection(self, info: ConnectionInfo, flow: bytes) -> Connection:
        listening = self._listening(info.id) if info.id in self._wanted else ()
        copied = None if self._copier is None else self._copied_of(self._capture_set)
        return _Heard(info, listening, self._packet, self._over, self._store, self._noted, copied, flow)

    def _packet_of(self, ref: int) -> PlainPacket:
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
    """Return the packets of each excerpt, with several connections sorted by time. Raises no exception.

    For connections that `secrets` open it returns the plaintext, in the packets that brought it.
    """
    made: list[list[list[ExcerptPacket]]] = [[[] for _ in group or ()] for group in plans]
    recorders: dict[str, list[Recorder]] = {}
    for group, lists in zip(plans, made, strict=True):
        for one, packets in zip(group or (), lists, strict=True):
            recorder = Recorder(one, show_secrets, packets.append, secrets)
            recorders.setdefault(one.connection, []).append(recorder)
    listen(ports, capture_set_of, recorders, recorders.__getitem__, batches)
    return [_merged(parts) for parts in made]


def listen(
    ports: Ports,
    capture_set_of: Callable[[int], str],
    wanted: Container[str],
    listening: Callable[[str], Sequence[Listener]],
    batches: Iterable[Sequence[PlainPacket]],
    copier: "native.Copier | None" = None,
) -> None:
    """Read packets and let others listen to the wanted connections, to the end.

    `copier` does the work of a single `Recorder` if it can. Raises only what the listeners raise.
    """
    tap = Tap(ports, capture_set_of, wanted, listening, copier)
    for packets in batches:
        tap.feed_batch(packets)
    tap.close()


def _merged(parts: list[list[ExcerptPacket]]) -> list[ExcerptPacket]:
    """Merge connections by the running maximum of time, so that each keeps its order."""
    if len(parts) == 1:
        return parts[0]
    keyed = []
    for part in parts:
        latest = NEVER_NS
        for item in part:
            latest = max(latest, item.packet.time_ns)
            keyed.append((latest, item))
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]
