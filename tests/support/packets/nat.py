"""The recording of both sides of a NAT, and one side of it alone."""

from __future__ import annotations

from pathlib import Path

from kdissect.capture.files import open_captures
from tests.support.packets.pcaps import pcap_bytes

NAT = Path(__file__).parents[3] / "captures" / "kafka44_nat.pcapng"
INSIDE, OUTSIDE = "10.77.1.2", "10.77.2.1"
"""Addresses of the client on either side (captures/record/nat.py)."""


def nat_side(client: str, path: Path, shift_ns: int = 0) -> Path:
    """Write the packets of one address of the client, `shift_ns` later; gives the path."""
    address = bytes(map(int, client.split(".")))
    packets = list(open_captures([str(NAT)]).packets())
    # Ethernet and IPv4: source at 26, destination at 30 (RFC 791 section 3.1).
    kept = [
        packet._replace(time_ns=packet.time_ns + shift_ns)
        for packet in packets
        if address in (packet.data[26:30], packet.data[30:34])
    ]
    (link_type,) = {packet.link_type for packet in kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap_bytes(kept, link_type))
    return path
