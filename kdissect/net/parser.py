"""Packets to TCP segments.

Nearly all packets of a Kafka capture are Ethernet (or a Linux cooked header), IPv4 without options, TCP: for
these one `unpack_from` reads link, network and transport header together. Everything else goes through
`link`, `ip`, `fragments`, `tunnel`, `foreign` and `tcp_header`, which is several times slower and says what
is wrong with a packet.
"""

import struct
from collections import Counter
from collections.abc import Sequence

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.limits import Limits, in_force
from kdissect.model.link import link_name
from kdissect.model.packet import Packet, PlainPacket
from kdissect.model.segment import PlainSegment, Segment
from kdissect.net import foreign
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.datagram import Datagram, Fragment, MalformedPacketError
from kdissect.net.fragments import FragmentTable
from kdissect.net.fused import FRAGMENT_AND_PROTOCOL, FUSED, PLAIN_IPV4, SHORTEST_TCP, read_plain
from kdissect.net.ip import read_ip
from kdissect.net.link import IPV4, IPV6, network_layer
from kdissect.net.protocols import TCP, ethertype_name, protocol_name
from kdissect.net.tcp_header import read_tcp
from kdissect.net.tunnel import inner_network_layer


class SegmentParser:
    """Takes packets apart down to TCP, and counts what is not TCP.

    `packets` counts all packets given, `not_tcp` those that gave no segment, `others` the packets of other
    protocols by name (`udp`, `arp`), `malformed` those whose headers make no sense, `unsupported` those of
    unknown link types by number.
    """

    __slots__ = ("_depth", "_fragments", "_log", "malformed", "not_tcp", "others", "packets", "unsupported")

    def __init__(self, limits: Limits | None = None) -> None:
        limits = in_force() if limits is None else limits
        self.packets = 0
        self.not_tcp = 0
        self.malformed = 0
        self.others: Counter[str] = Counter()
        self.unsupported: Counter[int] = Counter()
        self._depth = limits.packet_depth
        self._log = AnomalyLog(limits.anomalies)
        self._fragments = FragmentTable(self._log, limits)

    @property
    def tcp_segments(self) -> int:
        """How many packets gave a TCP segment."""
        return self.packets - self.not_tcp

    @property
    def anomalies(self) -> list[Anomaly]:
        """The first anomalies: UNSUPPORTED_LINK once a link type, MALFORMED_PACKET, FRAGMENT_INCOMPLETE."""
        return self._log.kept

    @property
    def anomaly_counts(self) -> Counter[AnomalyKind]:
        """How many anomalies of each kind there were, those beyond the first included."""
        return self._log.counts

    def parse(self, packet: Packet) -> Segment | None:
        """The TCP segment in a packet, None if there is none. Never raises, whatever the bytes are."""
        segment = self.parse_batch((packet,))[0]
        return None if segment is None else Segment._make(segment)

    def parse_batch(self, packets: Sequence[PlainPacket]) -> list[PlainSegment | None]:
        """The same for many packets, without the names: None where a packet has no segment."""
        # Hot, one round a packet: locals instead of globals, and no call for a plain packet.
        self.packets += len(packets)
        segments: list[PlainSegment | None] = []
        append, links = segments.append, FUSED
        for packet in packets:
            _, _, link_type, data, _ = packet
            try:
                unpack, expected, network = links[link_type]
                link, version, total, ip_id, fragment, flow, seq, ack, flags, window = unpack(data)
            except (KeyError, struct.error):
                append(self._parse_any(packet))
                continue
            if link == expected and version == PLAIN_IPV4 and fragment & FRAGMENT_AND_PROTOCOL == TCP:
                start = network + 20 + (flags >> 12 << 2)
                end = network + total
                if start <= end <= len(data) and flags >= SHORTEST_TCP:
                    append((flow, seq, ack, flags & 0xFF, window, data[start:end], 0, ip_id))
                    continue
            append(self._parse_any(packet))
        return segments

    def close(self) -> None:
        """End of input: fragments still waiting become anomalies."""
        self._fragments.close()

    def _parse_any(self, plain: PlainPacket) -> PlainSegment | None:
        packet = Packet._make(plain)
        try:
            segment = self._parse_layers(packet)
        except (MalformedPacketError, struct.error, IndexError) as error:
            self.malformed += 1
            self._log.note(AnomalyKind.MALFORMED_PACKET, str(error), packet.ref, packet.time_ns)
            segment = None
        if segment is None:
            self.not_tcp += 1
        return segment

    def _parse_layers(self, packet: Packet) -> PlainSegment | None:
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
                self.others[ethertype_name(ethertype)] += 1
                return None
            whole = self._whole(read_ip(data, at, limit), packet)
            if whole is None:
                return None
            if whole.protocol == TCP:
                return read_tcp(whole)
            inner = inner_network_layer(whole)
            if inner is None:
                self.others[protocol_name(whole.protocol)] += 1
                return None
            ethertype, at = inner
            data, limit = whole.data, whole.end
        raise MalformedPacketError(f"more than {self._depth} packets inside each other")

    def _whole(self, ip: Datagram | Fragment, packet: Packet) -> Datagram | None:
        if isinstance(ip, Datagram):
            return ip
        whole = self._fragments.add(ip, packet.ref, packet.time_ns)
        if whole is None:
            self.others["fragment"] += 1
        return whole

    def _note_link(self, packet: Packet) -> None:
        self.unsupported[packet.link_type] += 1
        if self.unsupported[packet.link_type] == 1:
            name = link_name(packet.link_type)
            self._log.note(AnomalyKind.UNSUPPORTED_LINK, name, packet.ref, packet.time_ns)
