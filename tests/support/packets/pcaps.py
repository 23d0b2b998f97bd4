"""Writes captures, without kdissect's own code."""

import struct
from collections.abc import Iterable
from pathlib import Path

from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet


def pcap_bytes(packets: Iterable[Packet], link_type: int = 1) -> bytes:
    """Return a nanosecond pcap file."""
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link_type)]
    for packet in packets:
        seconds, nanos = divmod(packet.time_ns, 10**9)
        parts += [struct.pack("<IIII", seconds, nanos, len(packet.data), packet.wire_length), packet.data]
    return b"".join(parts)


def write_pcap(path: Path, packets: Iterable[Packet]) -> str:
    """Write a pcap file; gives its path."""
    path.write_bytes(pcap_bytes(packets))
    return str(path)


def write_side_by_side(paths: dict[Path, Path], apart_ns: int = 50_000) -> list[str]:
    """Write captures anew, as if all had begun at one time, each `apart_ns` behind the one before.

    Gives the paths. `paths` are the files to write, each with the one that it is read from.
    """
    written = []
    for number, (path, source) in enumerate(paths.items()):
        packets = list(open_captures([source]).packets())
        first = min(packet.time_ns for packet in packets) - 10**18 - number * apart_ns
        written.append(write_pcap(path, [one._replace(time_ns=one.time_ns - first) for one in packets]))
    return written
