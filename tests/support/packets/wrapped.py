"""Packets of Ethernet as capture tools and mirrors wrap them, written by hand."""

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet

Wrap = Callable[[bytes], bytes]
OUT, IN = 2, 1
ETHERNET_HEADER = 14


def pktap(
    packet: bytes, flags: int = OUT, pid: int = 4094, name: bytes = b"java", link: int = 1, extra: int = 0
) -> bytes:
    """XNU's `struct pktap_header`, then the packet."""
    head = struct.pack("<III24sIIII", 108 + extra, 1, link, b"en0", flags, 2, 14, 0)
    return head + struct.pack("<i20sIHHi20s", pid, name, 0, 6, 0, -1, b"") + bytes(extra) + packet


def nflog(packet: bytes, order: str = "<") -> bytes:
    """Return the header, hook and prefix as the kernel puts them first, the packet from its IP header on."""
    ip = packet[ETHERNET_HEADER:]
    family = 10 if ip[0] >> 4 == 6 else 2

    def attribute(kind: int, value: bytes) -> bytes:
        return struct.pack(order + "HH", len(value) + 4, kind) + value + bytes(-len(value) & 3)

    head = struct.pack(">BBH", family, 0, 5)
    return head + attribute(1, b"\x08\0\1\0") + attribute(10, b"kafka\0") + attribute(9, ip)


def outer_ip(protocol: int, payload: bytes) -> bytes:
    """Return an Ethernet frame with another IPv4 packet."""
    ends = b"\x0a\x63\0\1\x0a\x63\0\2"
    ip = struct.pack(">BBHHHBBH8s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, ends)
    return bytes(12) + b"\x08\0" + ip + payload


def udp(port: int, payload: bytes) -> bytes:
    """Return an Ethernet frame with a datagram."""
    return outer_ip(17, struct.pack(">HHHH", 50001, port, 8 + len(payload), 0) + payload)


def erspan_iii(packet: bytes, subheader: bool = False, frame_type: int = 0) -> bytes:
    """GRE with a sequence number, the header of ERSPAN type III, perhaps its platform's own."""
    session = struct.pack(">HHIH", 2 << 12 | 100, 77, 123456, 0)
    last = struct.pack(">H", frame_type << 10 | 3 << 4 | subheader)
    return outer_ip(
        47, struct.pack(">HHI", 0x1000, 0x22EB, 1) + session + last + bytes(8 * subheader) + packet
    )


def gtp(packet: bytes, optional: bytes = b"", flags: int = 0x30, message: int = 0xFF) -> bytes:
    """GTP-U around the packet from its IP header on."""
    inner = optional + packet[ETHERNET_HEADER:]
    return udp(2152, struct.pack(">BBHI", flags, message, len(inner), 0x1234) + inner)


SEQUENCE = b"\0\7\0\0"
EXTENDED = b"\0\7\0\x85" + b"\1\x10\1\xc0" + b"\2" + b"\0" * 6 + b"\0"
# Name -> link type of the capture, what makes one of its packets.
FORMS: dict[str, tuple[int, Wrap]] = {
    "plain": (1, bytes),
    "pktap": (258, pktap),
    "pktap, a longer header": (258, lambda packet: pktap(packet, extra=40)),
    "pktap as macOS wrote it first": (149, lambda packet: pktap(packet, flags=IN)),
    "pktap of a tunnel": (258, lambda packet: pktap(packet[ETHERNET_HEADER:], link=12)),
    "nflog": (239, nflog),
    "nflog of a big-endian host": (239, lambda packet: nflog(packet, ">")),
    "erspan III": (1, erspan_iii),
    "erspan III with a subheader": (1, lambda packet: erspan_iii(packet, subheader=True)),
    "erspan III of IP": (1, lambda packet: erspan_iii(packet[ETHERNET_HEADER:], frame_type=2)),
    "gtp": (1, gtp),
    "gtp with a sequence number": (1, lambda packet: gtp(packet, SEQUENCE, 0x32)),
    "gtp with extension headers": (1, lambda packet: gtp(packet, EXTENDED, 0x36)),
}  # fmt: skip


def packets_of(capture: Path) -> list[Packet]:
    """Return the packets of a capture of Ethernet."""
    return list(open_captures([str(capture)]).packets())


def pcap(
    packets: Iterable[Packet],
    link: int = 1,
    wrap: Wrap = bytes,
    version: tuple[int, int] = (2, 4),
    order: str = "<",
) -> bytes:
    """Return a pcap file with nanoseconds; before 2.3 with the wire length first."""
    parts = [struct.pack(order + "IHHIIII", 0xA1B23C4D, *version, 0, 0, 1 << 18, link)]
    for packet in packets:
        data = wrap(packet.data)
        lengths = len(data), len(data) + packet.wire_length - len(packet.data)
        seconds, nanos = divmod(packet.time_ns, 10**9)
        told = lengths[::-1] if version < (2, 3) else lengths
        parts += [struct.pack(order + "IIII", seconds, nanos, *told), data]
    return b"".join(parts)


Comments = Callable[[Packet], tuple[Sequence[str], int]]
"""Comments of a packet and `epb_flags`, 0 for none."""


def pcapng(packets: Iterable[Packet], comments: Comments, order: str = "<") -> bytes:
    """Return a pcapng file whose packets have comments, and options that nobody asks for."""

    def block(kind: int, body: bytes) -> bytes:
        size = len(body) + 12
        return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)

    def option(code: int, value: bytes) -> bytes:
        return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) & 3)

    parts = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(block(1, struct.pack(order + "HHI", 1, 0, 0) + option(9, b"\x09") + bytes(4)))
    for packet in packets:
        texts, flags = comments(packet)
        told = b"".join(option(1, text.encode()) for text in texts)
        told += option(2, struct.pack(order + "I", flags)) if flags else b""
        head = struct.pack(
            order + "IIIII",
            0,
            packet.time_ns >> 32,
            packet.time_ns & 0xFFFFFFFF,
            len(packet.data),
            packet.wire_length,
        )
        parts.append(block(6, head + packet.data + bytes(-len(packet.data) & 3) + (told and told + bytes(4))))
    return b"".join(parts)


def ptcpdump(pid: int, command: str, *more: str) -> list[str]:
    """Return comments as ptcpdump writes them, one for each thing it knows."""
    return [f"PID: {pid}\nCmd: {command}\nArgs: {command} -Xmx1g", *more]


POD = "PodName: {}\nPodNamespace: {}\nPodUID: 1-2\nPodLabels: {{}}\nPodAnnotations: {{}}"
CONTAINER = "ContainerName: {}\nContainerId: 0123\nContainerImage: image:1\nContainerLabels: {{}}"
