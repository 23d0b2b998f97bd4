"""Writes captures, without kdissect's own code."""

import struct
from collections.abc import Iterable
from pathlib import Path

from kdissect.model.packets.packet import Packet


def pcap_bytes(packets: Iterable[Packet], link_type: int = 1) -> bytes:
    """A nanosecond pcap file."""
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link_type)]
    for packet in packets:
        seconds, nanos = divmod(packet.time_ns, 10**9)
        parts += [struct.pack("<IIII", seconds, nanos, len(packet.data), packet.wire_length), packet.data]
    return b"".join(parts)


def write_pcap(path: Path, packets: Iterable[Packet]) -> str:
    """Write a pcap file; gives its path."""
    path.write_bytes(pcap_bytes(packets))
    return str(path)
