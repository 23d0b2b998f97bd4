"""Packets to TCP segments.

Nearly all packets of a Kafka capture are Ethernet (or a Linux cooked header), IPv4 without options, TCP: for
these one `unpack_from` reads link, network and transport header together. Everything else goes through
`layers`, which is several times slower and names the fault of a packet. It is loaded with the first packet
that needs it.
"""

import struct
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.limits import Limits, in_force
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.model.packets.segment import PlainSegment, Segment
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.headers.combined_header import (
    COMBINED_HEADERS,
    FRAGMENT_AND_PROTOCOL,
    PLAIN_IPV4,
    SHORTEST_TCP,
    TCP,
    segment_flags,
)

if TYPE_CHECKING:
    from kdissect.model.packets.process import LocalEnd
    from kdissect.net.headers.layers import Layers


class SegmentParser:
    """Parser of packets down to TCP, with counts of other packets.

    `packets` counts all packets, `not_tcp` the packets without a segment, `others` the packets of other
    protocols by name (`udp`, `arp`), `malformed` packets whose headers make no sense, `unsupported` packets
    of unknown link types by number. `local_ends` has, by reference, the owners of the last packets, if the
    capture names them.
    """

    __slots__ = ("_layers", "_limits", "_log", "local_ends", "not_tcp", "others", "packets", "unsupported")

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = in_force() if limits is None else limits
        self.packets = 0
        self.not_tcp = 0
        self.others: Counter[str] = Counter()
        self.unsupported: Counter[int] = Counter()
        self.local_ends: dict[int, LocalEnd] = {}
        self._log = AnomalyLog(self._limits.anomalies)
        self._layers: Layers | None = None  # until a packet is not plain

    @property
    def tcp_segments(self) -> int:
        """How many packets gave a TCP segment."""
        return self.packets - self.not_tcp

    @property
    def malformed(self) -> int:
        """How many packets had headers that make no sense."""
        return 0 if self._layers is None else self._layers.malformed

    @property
    def anomalies(self) -> list[Anomaly]:
        """The first anomalies: UNSUPPORTED_LINK once a link type, MALFORMED_PACKET, FRAGMENT_INCOMPLETE."""
        return list(self._log.kept)

    @property
    def anomaly_counts(self) -> Counter[AnomalyKind]:
        """How many anomalies of each kind there were, those beyond the first included."""
        return self._log.counts

    def parse(self, packet: Packet) -> Segment | None:
        """Return the TCP segment in a packet, None if there is none. Never raises, whatever the bytes are."""
        segment = self.parse_batch((packet,))[0]
        return None if segment is None else Segment._make(segment)

    def parse_batch(self, packets: Sequence[PlainPacket]) -> list[PlainSegment | None]:
        """Return the segments of many packets, without field names: None if a packet has no segment."""
        # Hot, one round a packet: locals instead of globals, and no call for a plain packet.
        self.packets += len(packets)
        if self.local_ends:
            self.local_ends.clear()
        segments: list[PlainSegment | None] = []
        append, links = segments.append, COMBINED_HEADERS
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
                    flags = segment_flags(flags, ack, data, network + 20, start, end)
                    append((flow, seq, ack, flags, window, data[start:end], 0, ip_id))
                    continue
            append(self._parse_any(packet))
        return segments

    def close(self) -> None:
        """End of input: fragments still waiting become anomalies."""
        if self._layers is not None:
            self._layers.close()

    def _parse_any(self, plain: PlainPacket) -> PlainSegment | None:
        segment = self._all_layers().segment(Packet._make(plain))
        if segment is None:
            self.not_tcp += 1
        return segment

    def _all_layers(self) -> "Layers":
        if self._layers is None:
            from kdissect.net.headers.layers import Layers  # most captures of Kafka have plain packets alone

            self._layers = Layers(self._log, self._limits, self.others, self.unsupported, self.local_ends)
        return self._layers
