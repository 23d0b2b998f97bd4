"""A connection of which only (a part of) its handshake was seen, stored as its packets.

A flood has hundreds of thousands of them, and so has a client that opens connections without sending data.
Such a one is bytes: its packets, packed, the last one first, until another one comes, or its end. `Analyzer`
makes a connection of it then, which is as if it had been there from the start. Bytes and no class of their
own: an object of a class takes 32 bytes more, and each search for cycles comes by.
"""

from __future__ import annotations

from struct import Struct, error

from kdissect.model.packets.segment import ACK, FIN, RST, SYN, PlainSegment, Segment, reverse_flow
from kdissect.session.info import ConnectionInfo, TcpSummary

HalfOpen = bytes

# Time, reference and place of the packet. Then sequence, acknowledgment, flags, window, IP identification.
_FORM = Struct(">qQqQIIBHi")
_pack, _unpack, _FIRST = _FORM.pack, _FORM.unpack, _FORM.size
# Time, reference, sequence, acknowledgment, flags, window and IP identification of a later one.
_LATER = Struct(">qQIIBHi")
time_of = Struct(">q").unpack_from
"""The last packet's time of a half-open connection, alone in a tuple."""
_ENDS = SYN | FIN | RST
_ROLES = SYN | ACK
# Steps of a handshake (RFC 9293 section 3.5): the sender of each segment, and its flags.
_HANDSHAKE = (0, SYN), (1, SYN | ACK), (0, ACK)
_CONTROL = SYN | FIN | RST | ACK

NO_PLACE = (0, 0)  # of connections whose places are not needed: one for all
# The health of its TCP: one packet.
ONE_SYN = TcpSummary(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
ONE_SYN_OF_BROKER = ONE_SYN._replace(broker_packets=1)


def was_one_syn(info: ConnectionInfo) -> bool:
    """Return whether an ended connection was stored as one packet, without any other fact."""
    # By identity: a connection stored as a whole may have equal numbers, and anomalies besides.
    return info.tcp is ONE_SYN or info.tcp is ONE_SYN_OF_BROKER


def opened_by(segment: PlainSegment, ref: int, time_ns: int, place: tuple[int, int]) -> HalfOpen | None:
    """Return the half-open connection of a first segment.

    None if it is more than a SYN, or its numbers have no room.
    """
    _, seq, ack, flags, window, payload, missing, ip_id = segment
    if flags & _ENDS != SYN or payload or missing:
        return None
    try:
        return _pack(time_ns, ref, *place, seq, ack, flags, window, ip_id)
    except error:  # a time that no clock shows
        return None


def followed_by(
    half: HalfOpen, direction: int, segment: PlainSegment, ref: int, time_ns: int
) -> HalfOpen | None:
    """Return the half-open connection with the next segment; None if that is not the next step of a
    handshake.
    """
    _, seq, ack, flags, window, payload, missing, ip_id = segment
    number = 1 + (len(half) - _FIRST) // _LATER.size
    if payload or missing or _HANDSHAKE[number:][:1] != ((direction, flags & _CONTROL),):
        return None
    found = packets_of(half, b"")
    first, before = found[0][0], found[-1][0]
    if first.flags & _ROLES != SYN or ack != before.seq + 1:
        return None
    if number > 1 and seq != first.seq + 1:
        return None
    try:
        return _LATER.pack(time_ns, ref, seq, ack, flags, window, ip_id) + half
    except error:
        return None


def is_one_syn(half: HalfOpen) -> bool:
    """Return whether one packet was seen."""
    return len(half) == _FIRST


def opening_of(half: HalfOpen) -> tuple[bool, int, tuple[int, int]]:
    """Return whether it is the answer of who was connected to, its time, and its place in the order of
    all.
    """
    time_ns, _, first, second, _, _, flags, _, _ = _unpack(half[-_FIRST:])
    if first == time_ns:
        first = time_ns  # mostly: one number for both, in each of a hundred thousand connections
    return flags & _ROLES == _ROLES, time_ns, (first, second) if first or second else NO_PLACE


def first_seq(half: HalfOpen) -> int:
    """Return the sequence number of the first packet."""
    seq: int = _unpack(half[-_FIRST:])[4]
    return seq


def packets_of(half: HalfOpen, flow: bytes) -> list[tuple[Segment, int, int]]:
    """Return the segments of a flow, with their references and times. The second one has the other
    direction.
    """
    time_ns, ref, _, _, *numbers = _unpack(half[-_FIRST:])
    found = [(_segment(flow, *numbers), ref, time_ns)]
    for at in range(len(half) - _FIRST - _LATER.size, -1, -_LATER.size):
        time_ns, ref, *numbers = _LATER.unpack_from(half, at)
        key = flow if len(found) == 2 or not flow else reverse_flow(flow)
        found.append((_segment(key, *numbers), ref, time_ns))
    return found


def _segment(flow: bytes, seq: int, ack: int, flags: int, window: int, ip_id: int) -> Segment:
    return Segment(flow, seq, ack, flags, window, b"", 0, ip_id)
