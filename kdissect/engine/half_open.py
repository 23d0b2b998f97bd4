"""A connection of which nothing but one SYN was seen: a flood has hundreds of thousands of them.

It is its packet, packed, until another one comes, or its end. `Analyzer` makes a connection of it then, which
is as if it had been there from the start.
"""

from struct import Struct, error
from typing import Self

from kdissect.model.segment import ACK, FIN, RST, SYN, PlainSegment, Segment
from kdissect.session.info import TcpSummary

# Time, reference and place of the packet; sequence, acknowledgment, flags, window, IP identification.
_FORM = Struct(">qQqQIIBHi")
_pack, _unpack = _FORM.pack, _FORM.unpack
time_of = Struct(">q").unpack_from
_ENDS = SYN | FIN | RST
_ROLES = SYN | ACK

NO_PLACE = (0, 0)  # of those whose places nobody asks for: one for all
# The health of its TCP: one packet.
ONE_SYN = TcpSummary(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class HalfOpen(bytes):
    """The SYN of a connection, as `Analyzer` holds it in the place of a connection."""

    __slots__ = ()

    is_over = False
    """Neither direction ended."""

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

    @property
    def last_ns(self) -> int:
        """Time of the packet."""
        time_ns: int = time_of(self)[0]
        return time_ns

    def opening(self) -> tuple[bool, int, tuple[int, int]]:
        """Whether it is the answer of who was connected to, its time, and its place in the order of all."""
        time_ns, _, first, second, _, _, flags, _, _ = _unpack(self)
        return flags & _ROLES == _ROLES, time_ns, (first, second) if first or second else NO_PLACE

    @property
    def ref(self) -> int:
        """Reference of the packet."""
        ref: int = _unpack(self)[1]
        return ref

    def segment(self, flow: bytes) -> Segment:
        """The segment, of a flow."""
        _, _, _, _, seq, ack, flags, window, ip_id = _unpack(self)
        return Segment(flow, seq, ack, flags, window, b"", 0, ip_id)
