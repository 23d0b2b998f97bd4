"""Writes pcap files. kdissect itself writes pcapng, which has a place for all that it knows of a packet.

Source: draft-ietf-opsawg-pcap sections 4 and 5.
"""

from struct import Struct
from typing import BinaryIO

from kdissect.capture.formats.capture_writer import ByteOrder
from kdissect.model.packets.commented import without_comments
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet

_SECOND = 1_000_000_000
_ORDERS = {"big": ">", "little": "<"}
_LAST_SECOND = 0xFFFFFFFF  # draft-ietf-opsawg-pcap section 5
_SNAPLEN = 262144  # libpcap MAXIMUM_SNAPLEN


class PcapWriter:
    """Writes a pcap file to a binary stream; the header at once, every packet when it is given."""

    def __init__(
        self,
        stream: BinaryIO,
        link_type: int = LinkType.ETHERNET,
        *,
        nanoseconds: bool = True,
        byte_order: ByteOrder = "little",
        snaplen: int = _SNAPLEN,
    ) -> None:
        order = _ORDERS[byte_order]
        self._write = stream.write
        self._unit = 1 if nanoseconds else 1000
        self._pack = Struct(order + "IIII").pack
        self._snaplen = snaplen
        magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
        stream.write(Struct(order + "IHHiIII").pack(magic, 2, 4, 0, 0, snaplen, link_type))

    def write(self, time_ns: int, data: bytes, wire_length: int | None = None) -> None:
        """Write one packet, cut to the snap length; `wire_length` is given if `data` is already cut.

        Raises ValueError for a time before 1970 or after February 2106: the format has no place for it.
        """
        seconds, fraction = divmod(time_ns, _SECOND)
        if not 0 <= seconds <= _LAST_SECOND:
            raise ValueError(f"second {seconds} since 1970 does not fit into a pcap file, which has 32 bits")
        wire = len(data) if wire_length is None else wire_length
        data = data[: self._snaplen]
        self._write(self._pack(seconds, fraction // self._unit, len(data), wire) + data)

    def write_packet(self, packet: Packet) -> None:
        """Write a packet as it was read, without its comments: the format has no place for them."""
        _, data = without_comments(packet.link_type, packet.data)
        self.write(packet.time_ns, data, packet.wire_length)
