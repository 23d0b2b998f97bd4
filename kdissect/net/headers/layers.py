"""Packets that are not plain, one layer after the other: any link, tunnels, fragments, options.

`parser` reads nearly all packets with one `unpack_from`; what it cannot read so comes here.
"""

import struct
from collections import Counter
from struct import Struct

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import Limits
from kdissect.model.packets.link_types import link_name
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.process import LocalEnd
from kdissect.model.packets.segment import PlainSegment, Segment
from kdissect.model.wording import plural
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.headers import foreign_links as foreign
from kdissect.net.headers.capture_wrappers import is_wrapped, unwrapped
from kdissect.net.headers.combined_header import (
    TCP,
    ethertype_name,
    protocol_name,
    read_plain,
    segment_flags,
)
from kdissect.net.headers.datagram import Datagram, Fragment, MalformedPacketError
from kdissect.net.headers.fragments import FragmentTable
from kdissect.net.headers.link_header import IPV4, IPV6, ip_by_version, network_layer
from kdissect.net.headers.tunnel import inner_network_layer, unread_tunnel

# Comments of a capture file around PKTAP.
_WRAPPINGS = 2
# Ports, sequence, acknowledgment, offset and flags, window: RFC 9293 section 3.1.
_TCP = Struct(">4sIIHH").unpack_from
_TCP_HEADER = 20  # bytes without options, RFC 9293 section 3.1
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


class Layers:
    """Parser of packets, with counts in `others` and `unsupported` of packets without TCP (`parser`).
    `local_ends` receives the owners of packets.

    `malformed` counts packets whose headers make no sense.
    """

    __slots__ = ("_depth", "_fragments", "_local_ends", "_log", "_others", "_unsupported", "malformed")

    def __init__(
        self,
        log: AnomalyLog,
        limits: Limits,
        others: Counter[str],
        unsupported: Counter[int],
        local_ends: dict[int, LocalEnd],
    ) -> None:
        self.malformed = 0
        self._log = log
        self._depth = limits.packet_depth
        self._others = others
        self._unsupported = unsupported
        self._local_ends = local_ends
        self._fragments = FragmentTable(log, limits)

    def segment(self, packet: Packet) -> PlainSegment | None:
        """Return the TCP segment in a packet, None if there is none. Never raises, whatever the bytes are."""
        try:
            return self._segment(packet)
        except (MalformedPacketError, struct.error, IndexError) as error:
            self.malformed += 1
            self._log.note(AnomalyKind.MALFORMED_PACKET, str(error), packet.ref, packet.time_ns)
            return None

    def close(self) -> None:
        """End of input: fragments still waiting become anomalies."""
        self._fragments.close()

    def _segment(self, packet: Packet) -> PlainSegment | None:
        for _ in range(_WRAPPINGS):
            if not is_wrapped(packet.link_type):
                break
            packet, local_end = unwrapped(packet)
            if local_end is not None:
                self._local_ends[packet.ref] = local_end
        data = packet.data
        found = network_layer(packet.link_type, data)
        if found is None and foreign.is_known(packet.link_type):
            found = foreign.network_layer(packet.link_type, data)
        elif found is not None:
            found = foreign.behind_ethertype(data, *found)
        if found is None:
            self._note_link(packet)
            return None
        ethertype, at = found
        plain = read_plain(data, at) if ethertype in (IPV4, IPV6) else None
        if plain is not None:
            return plain
        return self._parse_network(ethertype, data, at, packet)

    def _parse_network(self, ethertype: int, data: bytes, at: int, packet: Packet) -> PlainSegment | None:
        limit = max(packet.wire_length, len(data))
        for _ in range(self._depth):
            if ethertype not in (IPV4, IPV6):
                self._others[ethertype_name(ethertype)] += 1
                return None
            whole = self._whole(read_ip(data, at, limit), packet)
            if whole is None:
                return None
            if whole.protocol == TCP:
                return read_tcp(whole)
            inner = inner_network_layer(whole)
            if inner is None:
                self._others[unread_tunnel(whole) or protocol_name(whole.protocol)] += 1
                return None
            ethertype, at = inner
            data, limit = whole.data, whole.end
        raise MalformedPacketError(f"more than {self._depth} packets inside each other")

    def _whole(self, ip: Datagram | Fragment, packet: Packet) -> Datagram | None:
        if isinstance(ip, Datagram):
            return ip
        whole = self._fragments.add(ip, packet.ref, packet.time_ns)
        if whole is None:
            self._others["fragment"] += 1
        return whole

    def _note_link(self, packet: Packet) -> None:
        self._unsupported[packet.link_type] += 1
        if self._unsupported[packet.link_type] == 1:
            name = link_name(packet.link_type)
            self._log.note(AnomalyKind.UNSUPPORTED_LINK, name, packet.ref, packet.time_ns)


# TCP headers: the general path.
def read_tcp(datagram: Datagram) -> Segment:
    """Return the TCP segment in an IP payload.

    Raises MalformedPacketError, or struct.error if its header is cut.
    """
    addresses, _, data, at, end, ip_id = datagram
    ports, seq, ack, offset_flags, window = _TCP(data, at)
    start = at + (offset_flags >> 12) * 4
    if start < at + _TCP_HEADER or start > end:
        raise MalformedPacketError(f"TCP header of {plural(start - at, 'byte')} in {end - at}")
    missing = max(0, end - max(start, len(data)))
    flags = segment_flags(offset_flags, ack, data, at, start, end)
    return Segment(addresses + ports, seq, ack, flags, window, data[start:end], missing, ip_id)


# IPv4 and IPv6 headers with options, extension headers and fragments: the general path.
def read_ip(data: bytes, at: int, limit: int) -> Datagram | Fragment:
    """Return the IP packet at `data[at:]`. `limit` is its latest end, used if its length field is 0.

    Raises MalformedPacketError or struct.error.
    """
    version, _ = ip_by_version(data, at)
    return (_read_ipv4 if version == IPV4 else _read_ipv6)(data, at, limit)


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
