"""A connection's handover to the native engine and back: whole, as data.

Rules:
- A connection has one owner at a time. It is handed over if all about it is ordinary: frames are cut at known
  positions, requests wait under ids of their own, no segment is out of order, there is no anomaly to note.
- The engine takes ordinary packets, and the end of the connection. Python reclaims the connection for any
  other packet.
- A connection whose handshake and first request are ordinary begins in the engine (`session.beginning`).
- A handover costs time for each waiting request. Python hands a connection over again at once, but after ever
  more packets if the engine took few of them, and after some if requests wait.
"""

from __future__ import annotations

from typing import NamedTuple

from kdissect.model.frame import logged_of
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.stream import CloseKind
from kdissect.net.anomaly_log import NOTHING_NOTED, AnomalyLog
from kdissect.net.store import Store
from kdissect.net.streams.oddities import NOTHING_ODD, Oddities
from kdissect.net.streams.reassembly import Reassembly, StreamState
from kdissect.net.streams.tcp import Lender, TcpConnection
from kdissect.session.beginning import first_of
from kdissect.session.conversation import MAX_KINDS, Conversation, ConversationState
from kdissect.session.conversation import Kept as ConversationKept
from kdissect.session.exchange import Exchange
from kdissect.session.framing import FrameReader, FramingState, nowhere
from kdissect.session.identities import number_of_news, read_news
from kdissect.session.info import ConnectionInfo, close_of
from kdissect.session.pairing import Losses
from kdissect.session.request_kind import kind_row
from kdissect.session.sasl import Phase

# Packets that Python takes between reclaiming a connection and its next handover: none, and twice the former
# number each time that the engine took only few packets in between.
MANY_PACKETS = 1024
FEW_TAKEN = 16
WAITING_A_PACKET = 4  # requests that wait are handed over in the time that a packet takes in Python
MOST_NUMBER = (1 << 63) - 1  # a limit beyond it is none
KEPT_SHARED = 1000


class HeldState(NamedTuple):
    """State of a connection in the engine.

    Direction of the client, time of the last packet in nanoseconds, and of each direction its stream and its
    reader, None for one that Python alone goes on with. `comment` is that of the last line of a request log.
    """

    client_direction: int
    last_time_ns: int
    streams: tuple[StreamState, StreamState]
    framings: tuple[FramingState | None, FramingState | None]
    conversation: ConversationState
    comment: bytes | None


EndState = tuple[bool, tuple[int, int] | None, int]
"""Of a direction: whether it ended in the engine, number and time of the packet with its FIN, how many
packets have RST."""
SideSummary = tuple[int, int, int | None, bool, int]
"""Of a direction: packets, bytes, the shortest round trip in nanoseconds, whether that of the handshake is
one of the measures, how many packets have RST."""
Ends = tuple[tuple[EndState, EndState], tuple[int, int, int] | None]
"""Ends of both directions, then direction, time and reference of the RST that ended them, if it was one."""


class _Side(NamedTuple):
    """State of a direction that the engine does not need. `reader` is one that is not certain.

    `is_open` is of the reader: it may have the first byte even if the stream's SYN was not captured.
    """

    opened: bool
    is_open: bool
    ended: bool
    odd: Oddities
    reader: FrameReader | None


class Kept(NamedTuple):
    """State of a connection that the engine does not need."""

    conversation: ConversationKept
    sides: tuple[_Side, _Side]


# State that the engine does not have of a connection that began there.
_OPEN = _Side(True, True, False, NOTHING_ODD, None)
BEGUN = Kept(ConversationKept(Phase.REQUESTS, b"", 0, 0, 0, Losses()), (_OPEN, _OPEN))

# The same of one that began with a line of a request log, which does not have its beginning.
_FROM_MIDDLE = _OPEN._replace(opened=False, is_open=False)
BEGUN_LOGGED = BEGUN._replace(sides=(_FROM_MIDDLE, _FROM_MIDDLE))

# State that most connections have: one object for all.
_common: dict[Kept, Kept] = {}


def held_of(store: Store, info: ConnectionInfo) -> native.Held | None:
    """Return the state of a native-owned connection, or None without the engine."""
    return native.Held(engine_of(store), info) if is_compiled else None


def engine_of(store: Store) -> native.Engine:
    """Return the engine that the connections of an analysis share."""
    if store.engine is None:
        limits = store.limits
        most = (
            limits.frame_size, limits.frame_bytes, limits.pending_bytes, limits.pending_requests,
            limits.connection_pending_bytes, limits.connection_pending_requests,
        )  # fmt: skip
        a, b, c, d, e, f = (min(limit, MOST_NUMBER) for limit in most)
        assert isinstance(store.counts, native.Counts)
        store.engine = native.Engine(
            store.counts, (a, b, c, d, e, f), kind_row, Exchange.of_row, _count, _met, _line, _over, first_of,
            (number_of_news, read_news),
        )  # fmt: skip
    return store.engine


def _count(counted: list[tuple[ConnectionInfo, int, int]]) -> None:
    # Hot, once a block for each of its connections.
    for info, complete, silent in counted:
        info.complete += complete
        if silent:
            info.no_response_expected += silent


def _met(info: ConnectionInfo, api_key: int, api_version: int) -> None:
    info.remember((api_key, api_version), MAX_KINDS)


def _line(info: ConnectionInfo, comment: bytes) -> None:
    logged = logged_of(comment)
    if logged is not None:
        info.note_logged(logged.of_connection)


def _over(info: ConnectionInfo, last_ns: int, direction: int, is_reset: bool, at_ns: int) -> None:
    note_end(info, last_ns, (direction, is_reset, at_ns), CloseKind.FIN, at_ns)


def note_end(
    info: ConnectionInfo, last_ns: int, ended_by: tuple[int, bool, int] | None, how: CloseKind, time_ns: int
) -> None:
    """Note the end of a connection, by a FIN or RST that the engine took, or else by `how` and `time_ns`."""
    info.end_ns = max(info.start_ns, last_ns or info.start_ns)
    closed_by = None
    if ended_by is not None:
        direction, is_reset, at_ns = ended_by
        closed_by = direction, CloseKind.RST if is_reset else CloseKind.FIN, at_ns
    info.close = close_of(info, closed_by, how, time_ns)


def is_ordinary(
    tcp: TcpConnection, readers: tuple[FrameReader, FrameReader], conversation: Conversation
) -> bool:
    """Return whether a connection can be handed over."""
    first, second = readers
    is_open = first.closed is None and second.closed is None  # what ends is for Python
    return (
        is_open and not tcp.troubled and (first.is_certain or second.is_certain) and conversation.is_ordinary
    )


def lend(
    held: native.Held,
    lender: Lender,
    tcp: TcpConnection,
    readers: tuple[FrameReader, FrameReader],
    conversation: Conversation,
    info: ConnectionInfo,
) -> Kept:
    """Hand over a connection that `is_ordinary`. `readers` and `conversation` are not to be used any more."""
    time_ns = tcp.last_time_ns
    first, second = tcp.lend(lender)
    if not tcp.log.counts:
        tcp.log = NOTHING_NOTED
    framings = _framing(readers[0]), _framing(readers[1])
    comment = None
    if info.logged is not None:
        comment, info.logged = info.logged.comment(), info.logged.of_connection
    streams = first.state(), second.state()
    state = HeldState(info.client_direction, time_ns, streams, framings, conversation.state(), comment)
    held.lend(state, first.odd is NOTHING_ODD and second.odd is NOTHING_ODD)
    sides = _side(first, readers[0]), _side(second, readers[1])
    kept = Kept(conversation.kept, sides)
    is_own = any(side.reader is not None or side.odd is not NOTHING_ODD for side in sides)
    if is_own or kept.conversation.first_token:
        return kept
    if len(_common) >= KEPT_SHARED:
        _common.clear()
    return _common.setdefault(kept, kept)


def _framing(reader: FrameReader) -> FramingState | None:
    return reader.state() if reader.is_certain else None


def _side(stream: Reassembly, reader: FrameReader) -> _Side:
    if reader.is_certain:
        return _Side(stream.opened, reader.is_open, stream.ended, stream.odd, None)
    reader.hand_to(nowhere)  # of the conversation that there is then
    return _Side(stream.opened, reader.is_open, stream.ended, stream.odd, reader)


def take_back(
    held: native.Held,
    kept: Kept,
    tcp: TcpConnection,
    readers: tuple[FrameReader, FrameReader],
    conversation: Conversation,
    store: Store,
) -> tuple[FrameReader, FrameReader]:
    """Reclaim a connection, in new readers and a new conversation. Return its readers."""
    (client, time_ns, states, framings, of_conversation, _), (ends, reset_by) = held.take_back()
    if tcp.log is NOTHING_NOTED:
        tcp.log = AnomalyLog(store.limits.anomalies)
    conversation.take_over(of_conversation, kept.conversation)
    found, streams = [], []
    for side, new, framing, state, end in zip(kept.sides, readers, framings, states, ends, strict=True):
        reader = side.reader or new
        take = conversation.takes[reader.direction != client]
        reader.hand_to(take)
        if framing is not None:
            reader.take_over(framing, take)
            reader.is_open = side.is_open
        found.append(reader)
        stream = Reassembly(reader, tcp.log, store)
        stream.opened, stream.ended, stream.odd = side.opened, side.ended, side.odd
        stream.take_over(state)
        _end(stream, reader, end)
        streams.append(stream)
    conversation.requests_from = found[client]
    tcp.take_over((streams[0], streams[1]), time_ns, reset_by)
    return found[0], found[1]


def _end(stream: Reassembly, reader: FrameReader, end: EndState) -> None:
    """Have a direction as it is that ended in the engine."""
    has_ended, fin, resets = end
    if not has_ended:
        return
    stream.ended, reader.closed = True, CloseKind.FIN if fin else CloseKind.RST
    if fin:
        odd = stream.oddities()
        odd.fin_id, odd.fin_time_ns = fin
    if resets:
        stream.oddities().resets += resets


def patience(before: int, taken: int, conversation: Conversation) -> tuple[int, int]:
    """Return the minimum number of packets to wait from now on, and the present number, for the waiting
    requests.

    `taken` packets the engine had, after a wait of `before`.
    """
    now = min(2 * before + 1, MANY_PACKETS) if taken < FEW_TAKEN else 0
    return now, now + conversation.waiting // WAITING_A_PACKET
