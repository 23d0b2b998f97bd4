"""One capture as other taps would have it: with another clock, some packets lost, or begun later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet, ref_number
from tests.support.packets.pcaps import pcap_bytes


def tap(
    capture: Path, path: Path, shift_ns: int = 0, keeps: Callable[[int], bool] = lambda _number: True
) -> Path:
    """Write the packets of a capture whose numbers, from 1, are kept, `shift_ns` later; gives the path."""
    captures = open_captures([str(capture)])
    kept = [
        packet._replace(time_ns=packet.time_ns + shift_ns)
        for packet in captures.packets()
        if keeps(ref_number(packet.ref))
    ]
    (link_type,) = {packet.link_type for packet in kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap_bytes(kept, link_type))
    return path


def moved(packet: Packet, start: int) -> Packet:
    """Return an Ethernet, IPv4 packet with sequence numbers `start` further on, as another connection has."""
    data = bytearray(packet.data)
    tcp = 14 + (data[14] & 15) * 4  # RFC 791 section 3.1
    for at in (tcp + 4, tcp + 8):  # sequence and acknowledgment number, RFC 9293 section 3.1
        number = (int.from_bytes(data[at : at + 4]) + start) & 0xFFFFFFFF
        data[at : at + 4] = number.to_bytes(4)
    return packet._replace(data=bytes(data))
