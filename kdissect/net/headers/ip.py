"""IPv4 and IPv6 headers with options, extension headers and fragments: the general path."""

from struct import Struct

from kdissect.model.wording import plural
from kdissect.net.headers.datagram import Datagram, Fragment, MalformedPacketError

_IPV4 = Struct(">BxHHHxB2x8s").unpack_from  # RFC 791 section 3.1
_IPV6 = Struct(">IHBx32s").unpack_from  # RFC 8200 section 3
_EXTENSION = Struct(">BB").unpack_from  # next header, length; RFC 8200 section 4
_FRAGMENT = Struct(">BxHI").unpack_from  # RFC 8200 section 4.5

_IPV4_FRAGMENTED = 0x3FFF  # more fragments and fragment offset, RFC 791 section 3.1
_IPV4_MORE = 0x2000  # more fragments, RFC 791 section 3.1
_IPV6_HEADER = 40  # bytes, RFC 8200 section 3
_FRAGMENT_HEADER = 8  # bytes, RFC 8200 section 4.5

_IPV6_FRAGMENT = 44  # RFC 8200 section 4.5
_AUTHENTICATION = 51  # RFC 4302 section 2
# Hop-by-hop, routing, destination options (RFC 8200), mobility (RFC 6275), HIP (RFC 7401), Shim6 (RFC 5533).
_EXTENSIONS = frozenset((0, 43, 60, _AUTHENTICATION, 135, 139, 140))


def read_ip(data: bytes, at: int, limit: int) -> Datagram | Fragment:
    """The IP packet at `data[at:]`; `limit` is where it ends at the latest, used where its length field is 0.

    Raises MalformedPacketError or struct.error.
    """
    version = data[at] >> 4 if at < len(data) else 0
    if version == 4:
        return _read_ipv4(data, at, limit)
    if version == 6:
        return _read_ipv6(data, at, limit)
    raise MalformedPacketError(f"IP version {version}")


def _read_ipv4(data: bytes, at: int, limit: int) -> Datagram | Fragment:
    version_length, total, ip_id, fragment, protocol, addresses = _IPV4(data, at)
    start = at + (version_length & 15) * 4
    # Total length 0: segmentation offload, the packet was captured before the network card filled it in.
    end = at + total if total else limit
    if start < at + 20 or end < start:
        raise MalformedPacketError(f"IPv4 header of {plural(start - at, 'byte')} in a packet of {end - at}")
    if not fragment & _IPV4_FRAGMENTED:
        return Datagram(addresses, protocol, data, start, end, ip_id)
    more = bool(fragment & _IPV4_MORE)
    offset = (fragment & 0x1FFF) * 8  # in units of 8 bytes, RFC 791 section 3.1
    return Fragment(addresses, protocol, ip_id, offset, more, data[start:end], end - start, ip_id)


def _read_ipv6(data: bytes, at: int, limit: int) -> Datagram | Fragment:
    _, length, header, addresses = _IPV6(data, at)
    start = at + _IPV6_HEADER
    # Length 0: a jumbogram (RFC 2675) or segmentation offload.
    end = start + length if length else limit
    while header in _EXTENSIONS:
        following, units = _EXTENSION(data, start)
        # Units of 8 bytes beyond the first 8 (RFC 8200 section 4); AH: units of 4 beyond the first 8 (RFC
        # 4302 section 2.2).
        start += 8 + units * (4 if header == _AUTHENTICATION else 8)
        header = following
    if header == _IPV6_FRAGMENT:
        return _read_ipv6_fragment(data, start, end, addresses)
    if end < start:
        raise MalformedPacketError("IPv6 extension headers run past the packet")
    return Datagram(addresses, header, data, start, end, -1)


def _read_ipv6_fragment(data: bytes, at: int, end: int, addresses: bytes) -> Datagram | Fragment:
    header, offset_more, identification = _FRAGMENT(data, at)
    start = at + _FRAGMENT_HEADER
    if end < start:
        raise MalformedPacketError("IPv6 fragment header runs past the packet")
    more = bool(offset_more & 1)
    offset = offset_more & 0xFFF8  # in units of 8 bytes above three flag bits, RFC 8200 section 4.5
    if not more and not offset:  # an atomic fragment is a whole packet, RFC 6946
        return Datagram(addresses, header, data, start, end, -1)
    return Fragment(addresses, header, identification, offset, more, data[start:end], end - start, -1)
