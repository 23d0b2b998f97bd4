"""The headers of a captured packet, to be put before other bytes of the same connection."""

import struct
from typing import NamedTuple

from kdissect.model.packets.commented import Commented, is_commented, taken_apart
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.segment import PlainSegment
from kdissect.net.headers.combined_header import TCP
from kdissect.net.headers.datagram import MalformedPacketError
from kdissect.net.headers.link_header import IPV4, IPV6, network_layer

_IPV4_HEADER, _IPV6_HEADER, _TCP_HEADER = 20, 40, 20  # RFC 791 section 3.1, RFC 8200 section 3, RFC 9293 3.1
_FRAGMENTED = 0x3FFF  # RFC 791 section 3.1
_PORTS = 4
# A datagram's length field has 16 bits (RFC 791 section 3.1). Captured segments may be longer if the network
# card cuts them.
MAX_PAYLOAD = 0xFFFF - 60 - 60

_16 = struct.Struct(">H")
_32 = struct.Struct(">I")


class Headers(NamedTuple):
    """Headers of a packet: `data` up to the TCP payload. `ip` and `tcp` are the offsets of those headers in
    it.

    `commented` has the comments of the packet they come from.
    """

    link_type: int
    data: bytes
    ip: int
    tcp: int
    commented: Commented | None = None

    def packet(self, seq: int, ack: int, flags: int, payload: bytes) -> bytes:
        """Return a packet with these headers. Lengths and checksums match the new content."""
        out = bytearray(self.data)
        size = len(out) - self.tcp + len(payload)
        _32.pack_into(out, self.tcp + 4, seq & 0xFFFFFFFF)
        _32.pack_into(out, self.tcp + 8, ack & 0xFFFFFFFF)
        out[self.tcp + 13] = flags
        _16.pack_into(out, self.tcp + 16, 0)
        addresses = self._address_ip(out, size)
        pseudo = addresses + bytes((0, TCP)) + _16.pack(size)  # RFC 9293 section 3.1; IPv6: the same sum
        out += payload
        _16.pack_into(out, self.tcp + 16, _checksum(pseudo + bytes(out[self.tcp :])))
        return bytes(out)

    def _address_ip(self, out: bytearray, size: int) -> bytes:
        """Set the IP length and checksum. Return both addresses."""
        ip = self.ip
        if out[ip] >> 4 == 6:
            _16.pack_into(out, ip + 4, self.tcp - ip - _IPV6_HEADER + size)
            return bytes(out[ip + 8 : ip + 40])
        _16.pack_into(out, ip + 2, self.tcp - ip + size)
        _16.pack_into(out, ip + 10, 0)
        _16.pack_into(out, ip + 10, _checksum(bytes(out[ip : self.tcp])))
        return bytes(out[ip + 12 : ip + 20])


def headers_of(link_type: int, data: bytes, segment: PlainSegment) -> Headers:
    """Return the packet's own headers, or new ones with equal addresses if it came in a tunnel or in
    fragments.
    """
    if is_commented(link_type):
        parts = taken_apart(link_type, data)
        return headers_of(parts.link_type, parts.data, segment)._replace(commented=parts)
    try:
        return _own(link_type, data) or headers_between(segment[0])
    except (MalformedPacketError, struct.error, IndexError):
        return headers_between(segment[0])


def _own(link_type: int, data: bytes) -> Headers | None:
    found = network_layer(link_type, data)
    if found is None:
        return None
    ethertype, ip = found
    if ethertype == IPV4:
        is_plain = data[ip + 9] == TCP and not _16.unpack_from(data, ip + 6)[0] & _FRAGMENTED
        tcp = ip + (data[ip] & 15) * 4
    elif ethertype == IPV6:
        is_plain, tcp = data[ip + 6] == TCP, ip + _IPV6_HEADER
    else:
        return None
    end = tcp + (data[tcp + 12] >> 4) * 4
    if not is_plain or end > len(data) or end < tcp + _TCP_HEADER:
        return None
    return Headers(link_type, _without_sack(data[:end], tcp), ip, tcp)


def _without_sack(data: bytes, tcp: int) -> bytes:
    """Replace selective acknowledgments, which name sequence numbers of the capture, by NOPs (RFC 2018)."""
    out, at = bytearray(data), tcp + _TCP_HEADER
    while at < len(out) and out[at] != 0:
        length = 1 if out[at] == 1 else out[at + 1] if at + 1 < len(out) else 0
        if length < 1 or (length < 2 and out[at] != 1):
            break
        if out[at] == 5:
            out[at : at + length] = b"\1" * len(out[at : at + length])
        at += length
    return bytes(out)


def headers_between(flow: bytes) -> Headers:
    """Return new headers of a flow (`model.segment.flow_key`), without a link layer."""
    half = (len(flow) - _PORTS) // 2
    tcp = flow[2 * half :] + bytes(8) + bytes((_TCP_HEADER // 4 << 4, 0)) + b"\xff\xff" + bytes(4)
    if half == 4:
        ip = b"\x45" + bytes(7) + bytes((64, TCP)) + bytes(2) + flow[: 2 * half]
        return Headers(LinkType.RAW, ip + tcp, 0, _IPV4_HEADER)
    ip = b"\x60" + bytes(5) + bytes((TCP, 64)) + flow[: 2 * half]
    return Headers(LinkType.RAW, ip + tcp, 0, _IPV6_HEADER)


def _checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    # the sum of 16-bit words in one's complement is the number modulo 2^16 - 1
    total = int.from_bytes(data) % 0xFFFF
    return 0xFFFF - total
