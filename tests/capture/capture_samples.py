"""Captures made by hand with struct, and ways to read them, for the tests of the capture layer."""

import struct
from collections.abc import Iterable, Iterator

from kdissect.capture.formats.capture_parser import CaptureParser
from kdissect.capture.formats.pcap import PcapParser
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.model.packets.packet import Packet

SECOND = 1_000_000_000


def pcap_header(
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    link: int = 1,
    snaplen: int = 65535,
    version: tuple[int, int] = (2, 4),
) -> bytes:
    return struct.pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, link)


def pcap_packet(
    seconds: int,
    data: bytes,
    *,
    order: str = "<",
    fraction: int = 0,
    wire: int | None = None,
    length: int | None = None,
) -> bytes:
    captured = len(data) if length is None else length
    return struct.pack(order + "IIII", seconds, fraction, captured, captured if wire is None else wire) + data


def sample_pcap(times: Iterable[int] = range(1, 6), size: int = 60, first_byte: int = 0) -> bytes:
    """Return a little-endian pcap with a packet of `size` bytes at each second of `times`."""
    packets = [pcap_packet(t, bytes([(first_byte + i) & 255]) * size) for i, t in enumerate(times)]
    return pcap_header() + b"".join(packets)


def block(kind: int, body: bytes, order: str = "<", *, trailer: int | None = None) -> bytes:
    body += bytes(-len(body) & 3)
    total = len(body) + 12
    last = total if trailer is None else trailer
    return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", last)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) & 3)


def section(order: str = "<", options: bytes = b"", version: int = 1) -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, version, 0, -1) + options, order)


def interface(order: str = "<", link: int = 1, snaplen: int = 0, options: bytes = b"") -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def enhanced(
    stamp: int,
    data: bytes,
    *,
    order: str = "<",
    index: int = 0,
    wire: int | None = None,
    length: int | None = None,
) -> bytes:
    captured = len(data) if length is None else length
    sizes = (captured, captured if wire is None else wire)
    head = struct.pack(order + "IIIII", index, stamp >> 32, stamp & 0xFFFFFFFF, *sizes)
    return block(6, head + data, order)


def sample_pcapng(times: Iterable[int] = range(1, 6), order: str = "<") -> bytes:
    """Return a pcapng of one Ethernet interface with microseconds and a packet at each second of `times`."""
    packets = [enhanced(t * 1_000_000, bytes([i & 255]) * (60 + i), order=order) for i, t in enumerate(times)]
    return section(order) + interface(order) + b"".join(packets)


def parser_of(capture: bytes) -> CaptureParser:
    return PcapngParser() if capture[:4] == b"\x0a\x0d\x0d\x0a" else PcapParser()


def feed(capture: bytes, size: int = 1 << 20) -> tuple[list[Packet], CaptureParser]:
    """Parse a capture in pieces of `size` bytes."""
    parser = parser_of(capture)
    packets = [Packet._make(plain) for piece in pieces(capture, size) for plain in parser.feed(piece)]
    parser.close()
    return packets, parser


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


def outcome(parser: CaptureParser) -> tuple[object, ...]:
    """Return everything a parser found out besides the packets."""
    return (
        parser.packets, parser.captured_bytes, parser.anomalies, parser.error, parser.link_types,
        parser.drops, parser.secrets,
    )  # fmt: skip
