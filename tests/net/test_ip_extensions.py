"""IPv6 extension headers of every kind that has a length: the protocol behind them, and where it begins."""

import struct

import pytest

from kdissect.net.headers.datagram import Datagram, Fragment, MalformedPacketError
from kdissect.net.headers.layers import read_ip, read_tcp

TCP, AH = 6, 51
ENDS = bytes(32)


def ipv6(header: int, payload: bytes, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return struct.pack(">IHBB", 6 << 28, size, header, 64) + ENDS + payload


@pytest.mark.parametrize("header", [0, 43, 60, 135, 139, 140])
@pytest.mark.parametrize("units", [0, 2])
def test_extension_headers_count_in_eight_bytes(header: int, units: int) -> None:
    """RFC 8200 section 4.3, RFC 6275, 7401, 5533: units beyond the first."""
    extension = bytes((TCP, units)) + bytes(6 + 8 * units)
    data = ipv6(header, extension + b"segment")
    assert read_ip(data, 0, len(data)) == Datagram(ENDS, TCP, data, 40 + len(extension), len(data), -1)


def test_an_authentication_header_counts_in_four_bytes() -> None:
    """RFC 4302 section 2.2."""
    extension = bytes((TCP, 4)) + bytes(22)
    data = ipv6(AH, extension + b"segment")
    assert read_ip(data, 0, len(data)) == Datagram(ENDS, TCP, data, 64, len(data), -1)


@pytest.mark.parametrize("header", [44 + 1, 42, 61, 134, 136, 138, 141])
def test_others_are_protocols(header: int) -> None:
    data = ipv6(header, bytes(16))
    assert read_ip(data, 0, len(data)) == Datagram(ENDS, header, data, 40, 56, -1)


@pytest.mark.parametrize(("size", "fits"), [(8, True), (7, False)])
def test_extension_headers_end_within_the_packet(size: int, fits: bool) -> None:
    data = ipv6(0, bytes((TCP, 0)) + bytes(14), length=size)
    if fits:
        assert read_ip(data, 0, len(data)) == Datagram(ENDS, TCP, data, 48, 48, -1)
    else:
        with pytest.raises(MalformedPacketError):
            read_ip(data, 0, len(data))


@pytest.mark.parametrize(
    ("offset_more", "offset", "more"), [(1, 0, True), (8, 8, False), (0xFFF9, 0xFFF8, True)]
)
def test_fragments_count_their_offset_in_eight_bytes(offset_more: int, offset: int, more: bool) -> None:
    """RFC 8200 section 4.5: three flag bits are below it."""
    data = ipv6(44, struct.pack(">BBHI", TCP, 0, offset_more, 99) + b"12345678")
    assert read_ip(data, 0, len(data)) == Fragment(ENDS, TCP, 99, offset, more, b"12345678", 8, -1)


@pytest.mark.parametrize("offset_more", [0, 2, 4, 6])
def test_a_fragment_that_is_all_is_a_packet(offset_more: int) -> None:
    """RFC 6946; the reserved bits say nothing."""
    data = ipv6(44, struct.pack(">BBHI", TCP, 0, offset_more, 99) + b"12345678")
    assert read_ip(data, 0, len(data)) == Datagram(ENDS, TCP, data, 48, 56, -1)


@pytest.mark.parametrize(
    ("flags_offset", "offset", "more"),
    [(0x2000, 0, True), (1, 8, False), (0x2001, 8, True), (0x1000, 0x8000, False), (0x1FFF, 0xFFF8, False)],
)
def test_fragments_of_ipv4_count_their_offset_in_eight_bytes(
    flags_offset: int, offset: int, more: bool
) -> None:
    """RFC 791 section 3.1."""
    ends = bytes(8)
    data = struct.pack(">BBHHHBBH", 0x45, 0, 28, 77, flags_offset, 64, TCP, 0) + ends + b"12345678"
    assert read_ip(data, 0, len(data)) == Fragment(ends, TCP, 77, offset, more, b"12345678", 8, 77)


@pytest.mark.parametrize("flags", [0, 0x4000, 0x8000, 0xC000])
def test_packets_of_ipv4_that_are_whole(flags: int) -> None:
    """RFC 791 section 3.1: may not be fragmented, and a reserved flag."""
    data = struct.pack(">BBHHHBBH", 0x45, 0, 28, 77, flags, 64, TCP, 0) + bytes(8) + b"12345678"
    assert read_ip(data, 0, len(data)) == Datagram(bytes(8), TCP, data, 20, 28, 77)


@pytest.mark.parametrize(("data", "version"), [(b"", 0), (b"\x05", 0), (b"\x50", 5), (b"\x7f", 7)])
def test_other_versions_are_malformed(data: bytes, version: int) -> None:
    with pytest.raises(MalformedPacketError, match=f"^IP version {version}$"):
        read_ip(data, 0, len(data))


@pytest.mark.parametrize(
    ("words", "message"),
    [(4, "TCP header of 16 bytes in 24"), (7, "TCP header of 28 bytes in 24"), (5, ""), (6, "")],
)
def test_tcp_headers_that_do_not_fit_say_by_how_much(words: int, message: str) -> None:
    data = b"before" + struct.pack(">HHIIHHHH", 1, 2, 3, 4, words << 12, 5, 0, 0) + b"data"
    datagram = Datagram(bytes(8), TCP, data, 6, len(data), 0)
    if not message:
        assert read_tcp(datagram).payload == b"data"[4 * (words - 5) :]
        return
    with pytest.raises(MalformedPacketError, match=f"^{message}$"):
        read_tcp(datagram)


@pytest.mark.parametrize(
    ("first", "total", "message"),
    [
        (0x44, 24, "IPv4 header of 16 bytes in a packet of 24"),
        (0x47, 24, "IPv4 header of 28 bytes in a packet of 24"),
    ],
)
def test_ipv4_headers_that_do_not_fit_say_by_how_much(first: int, total: int, message: str) -> None:
    data = b"link" + struct.pack(">BBHHHBBH", first, 0, total, 77, 0, 64, TCP, 0) + bytes(40)
    with pytest.raises(MalformedPacketError, match=f"^{message}$"):
        read_ip(data, 4, len(data))
