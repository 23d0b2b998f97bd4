"""The flows that an analyzer has open and half-open, and which of them are over or heard longest ago."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from struct import Struct, error
from typing import NamedTuple, Protocol, Self

from kdissect.model.native import native
from kdissect.model.packets.segment import ACK, FIN, RST, SYN, PlainSegment, Segment, reverse_flow
from kdissect.model.packets.stream import CloseKind
from kdissect.net.streams.tcp import TcpConnection
from kdissect.session.info import ConnectionInfo, TcpSummary

# A connection silent for longer is over; Kafka's own limit is 10 minutes (connections.max.idle.ms,
# SocketServerConfigs).
IDLE_NS = 30 * 60 * 1_000_000_000
# After both ends closed, late retransmissions still belong to the connection: 2 MSL, RFC 9293 section 3.4.2,
# in the 60 s form of Linux.
LINGER_NS = 60 * 1_000_000_000
SWEEP_EVERY_NS = 10 * 1_000_000_000


# Time, reference and place of the packet; sequence, acknowledgment, flags, window, IP identification.
_FORM = Struct(">qQqQIIBHi")
_pack, _unpack, _FIRST = _FORM.pack, _FORM.unpack, _FORM.size
# Time, reference, sequence, acknowledgment, flags, window and IP identification of a later one.
_LATER = Struct(">qQIIBHi")
time_of = Struct(">q").unpack_from
_ENDS = SYN | FIN | RST
_ROLES = SYN | ACK
# What a handshake is made of (RFC 9293 section 3.5): who sends a segment, and which of the flags it has.
_HANDSHAKE = (0, SYN), (1, SYN | ACK), (0, ACK)
_CONTROL = SYN | FIN | RST | ACK

NO_PLACE = (0, 0)  # of those whose places nobody asks for: one for all
_LAST_NS = attrgetter("last_ns")
# The health of its TCP: one packet.
ONE_SYN = TcpSummary(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class HalfOpen(bytes):
    """A connection of which nothing but its handshake was seen, or the first packets of that.

    A flood has hundreds of thousands of them, and so has who opens connections and says nothing. It is its
    packets, packed, the last one first, until another one comes, or its end. `Analyzer` makes a connection of
    it then, which is as if it had been there from the start.
    """

    __slots__ = ()

    is_over = False
    """Neither direction ended."""
    held = None
    """It is not lent to the compiled engine."""

    @classmethod
    def of(cls, segment: PlainSegment, ref: int, time_ns: int, place: tuple[int, int]) -> Self | None:
        """That of a segment. None if it is more than a SYN, or its numbers have no room."""
        _, seq, ack, flags, window, payload, missing, ip_id = segment
        if flags & _ENDS != SYN or payload or missing:
            return None
        try:
            return cls(_pack(time_ns, ref, *place, seq, ack, flags, window, ip_id))
        except error:  # a time that no clock shows
            return None

    def followed_by(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> Self | None:
        """The same with the next segment; None if that is not what comes next in a handshake."""
        _, seq, ack, flags, window, payload, missing, ip_id = segment
        number = 1 + (len(self) - _FIRST) // _LATER.size
        if payload or missing or _HANDSHAKE[number:][:1] != ((direction, flags & _CONTROL),):
            return None
        *_, before = self.segments(b"")
        first = before if number == 1 else self.segments(b"")[0]
        if first[0].flags & _ROLES != SYN or ack != before[0].seq + 1:
            return None
        if number > 1 and seq != first[0].seq + 1:
            return None
        try:
            return type(self)(_LATER.pack(time_ns, ref, seq, ack, flags, window, ip_id) + self)
        except error:
            return None

    @property
    def is_one_syn(self) -> bool:
        """Whether one packet was seen."""
        return len(self) == _FIRST

    @property
    def last_ns(self) -> int:
        """Time of the last packet."""
        time_ns: int = time_of(self)[0]
        return time_ns

    def opening(self) -> tuple[bool, int, tuple[int, int]]:
        """Whether it is the answer of who was connected to, its time, and its place in the order of all."""
        time_ns, _, first, second, _, _, flags, _, _ = _unpack(self[-_FIRST:])
        if first == time_ns:
            first = time_ns  # mostly: one number for both, in each of a hundred thousand connections
        return flags & _ROLES == _ROLES, time_ns, (first, second) if first or second else NO_PLACE

    def segments(self, flow: bytes) -> list[tuple[Segment, int, int]]:
        """The segments, of a flow, with their references and times; the second one goes the other way."""
        time_ns, ref, _, _, *numbers = _unpack(self[-_FIRST:])
        found = [(_segment(flow, *numbers), ref, time_ns)]
        for at in range(len(self) - _FIRST - _LATER.size, -1, -_LATER.size):
            time_ns, ref, *numbers = _LATER.unpack_from(self, at)
            key = flow if len(found) == 2 or not flow else reverse_flow(flow)
            found.append((_segment(key, *numbers), ref, time_ns))
        return found


def _segment(flow: bytes, seq: int, ack: int, flags: int, window: int, ip_id: int) -> Segment:
    return Segment(flow, seq, ack, flags, window, b"", 0, ip_id)


class Connection(Protocol):
    """An open connection: a `ConnectionAnalyzer`, or who only follows it."""

    info: ConnectionInfo
    tcp: TcpConnection

    @property
    def last_ns(self) -> int:
        """Time of the last packet."""

    @property
    def is_over(self) -> bool:
        """Whether both directions ended."""

    @property
    def held(self) -> native.Held | None:
        """Its place in the compiled engine; None where every segment must be fed."""

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next segment of a direction; that of the first packet is 0."""

    def close(self, how: CloseKind, time_ns: int) -> None:
        """It is over, and takes nothing any more."""


Flow = Connection | HalfOpen
"""What a flow leads to. A table has each once, under the flow key of its first packet."""


def over_ns(connection: Flow) -> int:
    """When a connection is over if nothing more comes."""
    silent_ns = LINGER_NS if connection.is_over else IDLE_NS
    return ((connection.last_ns + silent_ns) // SWEEP_EVERY_NS + 1) * SWEEP_EVERY_NS


class Heard(NamedTuple):
    """An open connection: its capture set, the flow key of its first packet, and when it was heard last."""

    capture_set: str
    flow: bytes
    last_ns: int


def heard_longest_ago(tables: Mapping[str, Mapping[bytes, Flow]], number: int) -> list[Heard]:
    """So many connections of all tables, by capture set; of those heard at one time the first to come."""
    # Hot: every connection there is, again and again in a flood: each is looked at once, few get a tuple.
    heard = [
        time_of(one)[0] if type(one) is HalfOpen else one.last_ns
        for table in tables.values()
        for one in table.values()
    ]
    latest_ns = sorted(heard)[min(number, len(heard)) - 1] if heard else 0
    flows = ((name, flow) for name, table in tables.items() for flow in table)
    found = [
        Heard(name, flow, last_ns)
        for (name, flow), last_ns in zip(flows, heard, strict=True)
        if last_ns <= latest_ns
    ]
    return sorted(found, key=_LAST_NS)[:number]
