"""TCP headers: the general path."""

from struct import Struct

from kdissect.model.packets.segment import Segment
from kdissect.model.wording import plural
from kdissect.net.headers.datagram import Datagram, MalformedPacketError

_TCP = Struct(
    ">4sIIHH"
).unpack_from  # ports, sequence, acknowledgment, offset and flags, window; RFC 9293 section 3.1
_TCP_HEADER = 20  # bytes without options, RFC 9293 section 3.1


def read_tcp(datagram: Datagram) -> Segment:
    """The TCP segment in an IP payload.

    Raises MalformedPacketError, or struct.error where its header is cut.
    """
    addresses, _, data, at, end, ip_id = datagram
    ports, seq, ack, offset_flags, window = _TCP(data, at)
    start = at + (offset_flags >> 12) * 4
    if start < at + _TCP_HEADER or start > end:
        raise MalformedPacketError(f"TCP header of {plural(start - at, 'byte')} in {end - at}")
    missing = max(0, end - max(start, len(data)))
    return Segment(addresses + ports, seq, ack, offset_flags & 0xFF, window, data[start:end], missing, ip_id)
