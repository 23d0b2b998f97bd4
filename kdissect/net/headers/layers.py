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
from kdissect.net.headers.combined_header import TCP, ethertype_name, protocol_name, read_plain
from kdissect.net.headers.datagram import Datagram, Fragment, MalformedPacketError
from kdissect.net.headers.fragments import FragmentTable
from kdissect.net.headers.ip import read_ip
from kdissect.net.headers.link_header import IPV4, IPV6, network_layer
from kdissect.net.headers.tunnel import inner_network_layer, unread_tunnel

# Comments of a capture file around PKTAP.
_WRAPPINGS = 2
_TCP = Struct(
    ">4sIIHH"
).unpack_from  # ports, sequence, acknowledgment, offset and flags, window; RFC 9293 section 3.1
_TCP_HEADER = 20  # bytes without options, RFC 9293 section 3.1


class Layers:
    """Takes packets apart, and counts in `others` and `unsupported` what is not TCP (`parser`); `local_ends`
    gets whose a packet is.

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
        """The TCP segment in a packet, None if there is none. Never raises, whatever the bytes are."""
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
        elif found is not None and foreign.carries_ip(found[0]):
            found = foreign.behind_ethertype(found[0], data, found[1])
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
