"""Where a GRE header and what stands behind it end: each optional field moves the inner packet."""

import struct

import pytest

from kdissect.net.headers.datagram import Datagram, MalformedPacketError
from kdissect.net.headers.tunnel import inner_network_layer

GRE = 47
CHECKSUM, KEY, SEQUENCE = 0x8000, 0x2000, 0x1000
ETHERNET = bytes(12) + b"\x08\0"
BEFORE = b"outer header"


def inner(flags: int, protocol: int, behind: bytes) -> tuple[int, int] | None:
    """EtherType and offset, counted from the end of the GRE header without options."""
    data = BEFORE + struct.pack(">HH", flags, protocol) + behind
    found = inner_network_layer(Datagram(bytes(8), GRE, data, len(BEFORE), len(data), 0))
    return None if found is None else (found[0], found[1] - len(BEFORE) - 4)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (0, 0), (CHECKSUM, 1), (KEY, 1), (SEQUENCE, 1), (CHECKSUM | KEY, 2), (KEY | SEQUENCE, 2),
        (CHECKSUM | KEY | SEQUENCE, 3), (0x4FFF, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", [0x0800, 0x86DD])
def test_optional_fields_have_four_bytes_each(flags: int, words: int, protocol: int) -> None:
    """RFC 2890 section 2."""
    assert inner(flags, protocol, bytes(40)) == (protocol, 4 * words)
    assert inner(flags, 0x6558, bytes(4 * words) + ETHERNET) == (0x0800, 4 * words + 14)


@pytest.mark.parametrize(("flags", "header"), [(0, 0), (SEQUENCE, 12), (KEY | SEQUENCE, 16), (KEY, 4)])
def test_erspan_has_a_header_where_it_has_a_sequence_number(flags: int, header: int) -> None:
    """draft-foschiano-erspan sections 4.1 and 4.2: type I has none, type II has 8 bytes."""
    assert inner(flags, 0x88BE, bytes(header) + ETHERNET) == (0x0800, header + 14)


def test_what_gre_may_carry_besides_is_not_read() -> None:
    assert inner(0, 0x880B, bytes(40)) is None


def udp(port: int, payload: bytes) -> tuple[int, int] | None:
    """EtherType and offset, counted from the payload on."""
    data = BEFORE + struct.pack(">HHHH", 50001, port, 8 + len(payload), 0) + payload
    found = inner_network_layer(Datagram(bytes(8), 17, data, len(BEFORE), len(data), 0))
    return None if found is None else (found[0], found[1] - len(BEFORE) - 8)


@pytest.mark.parametrize("port", [4789, 8472, 6081, 2152])
@pytest.mark.parametrize("size", range(8))
def test_datagrams_too_short_for_a_tunnel_are_none(port: int, size: int) -> None:
    assert udp(port, b"\x08" * size) is None


@pytest.mark.parametrize(("flags", "is_tunnel"), [(0x08, True), (0xFF, True), (0xF7, False), (0, False)])
@pytest.mark.parametrize("port", [4789, 8472])
def test_vxlan_has_its_flag(port: int, flags: int, is_tunnel: bool) -> None:
    """RFC 7348 section 5."""
    found = udp(port, bytes((flags,)) + bytes(7) + ETHERNET)
    assert found == ((0x0800, 8 + 14) if is_tunnel else None)
    assert udp(port + 1, bytes((flags,)) + bytes(7) + ETHERNET) is None


@pytest.mark.parametrize("words", [0, 1, 63])
def test_geneve_options_are_words(words: int) -> None:
    """RFC 8926 section 3.4; the two bits above the length are its version."""
    options = bytes(4 * words)
    head = bytes((words | 0x40, 0))
    assert udp(6081, head + b"\x65\x58" + bytes(4) + options + ETHERNET) == (0x0800, 8 + 4 * words + 14)
    assert udp(6081, head + b"\x86\xdd" + bytes(4) + options) == (0x86DD, 8 + 4 * words)


@pytest.mark.parametrize("tag", [0x8100, 0x88A8, 0x9100, 0x9200])
def test_tags_before_the_inner_packet(tag: int) -> None:
    """IEEE 802.1Q, 802.1ad, and what switches used before it."""
    tagged = bytes(12) + struct.pack(">HHHHH", tag, 5, tag, 6, 0x0800)
    assert inner(0, 0x6558, tagged) == (0x0800, 14 + 8)
    other = bytes(12) + struct.pack(">HHH", tag + 1, 5, 0x0800)
    assert inner(0, 0x6558, other) == (tag + 1, 14)


IP4, IP6 = b"\x45" + bytes(19), b"\x60" + bytes(39)
OPTIONAL = b"\0\7\0"  # sequence number and N-PDU number; the type of the next extension header follows


def gtp(flags: int, behind: bytes, message: int = 0xFF) -> tuple[int, int] | None:
    """EtherType and offset, counted from the end of the mandatory header of GTP-U on."""
    found = udp(2152, struct.pack(">BBHI", flags, message, len(behind), 7) + behind)
    return None if found is None else (found[0], found[1] - 8)


@pytest.mark.parametrize(
    ("flags", "behind", "found"),
    [
        (0x30, IP4, (0x0800, 0)), (0x30, IP6, (0x86DD, 0)), (0x38, IP4, (0x0800, 0)),
        (0x31, OPTIONAL + b"\x85" + IP4, (0x0800, 4)), (0x32, OPTIONAL + b"\x85" + IP4, (0x0800, 4)),
        (0x34, OPTIONAL + b"\0" + IP4, (0x0800, 4)), (0x37, OPTIONAL + b"\0" + IP6, (0x86DD, 4)),
        (0x34, OPTIONAL + b"\x85" + b"\1\x09\x09\0" + IP4, (0x0800, 8)),
        (0x34, OPTIONAL + b"\x85" + b"\2" + bytes(6) + b"\x40" + b"\1\x09\x09\0" + IP6, (0x86DD, 16)),
        (0x34, OPTIONAL + b"\x85" + b"\x03" + bytes(11) + IP4, (0x0800, 16)),
        (0x10, IP4, None), (0x50, IP4, None), (0x20, IP4, None), (0x70, IP4, None),
    ],
)  # fmt: skip
def test_gtp_has_its_packet_behind_extension_headers(
    flags: int, behind: bytes, found: tuple[int, int] | None
) -> None:
    """3GPP TS 29.281 sections 5.1 and 5.2.1."""
    assert gtp(flags, behind) == found


@pytest.mark.parametrize("message", [1, 2, 26, 254])
def test_gtp_of_the_ends_carries_no_packet(message: int) -> None:
    assert gtp(0x30, IP4, message) is None


def test_gtp_that_makes_no_sense() -> None:
    with pytest.raises(MalformedPacketError, match="GTP-U extension header of length 0"):
        gtp(0x34, OPTIONAL + b"\x85" + b"\0\0\0\0" + IP4)
    with pytest.raises(MalformedPacketError, match="IP version 0"):
        gtp(0x30, bytes(20))


@pytest.mark.parametrize("flags", [SEQUENCE, SEQUENCE | KEY])
@pytest.mark.parametrize(("last", "more"), [(0, 0), (1, 8), (0xFE, 0), (0xFF, 8)])
def test_erspan_iii_has_a_subheader_where_a_bit_says_so(flags: int, last: int, more: int) -> None:
    """draft-foschiano-erspan section 4.3."""
    before = bytes(8 if flags & KEY else 4)
    header = bytes(10) + bytes((0, last)) + bytes(more)
    assert inner(flags, 0x22EB, before + header + ETHERNET) == (0x0800, len(before) + 12 + more + 14)


@pytest.mark.parametrize("frame_type", range(32))
def test_erspan_iii_of_ip(frame_type: int) -> None:
    """The frame type has five bits: 2 is IP."""
    header = bytes(10) + bytes((frame_type << 2 | 0x83, 0))
    found = inner(SEQUENCE, 0x22EB, bytes(4) + header + IP6 + ETHERNET)
    assert found == ((0x86DD, 4 + 12) if frame_type == 2 else (0, 4 + 12 + 14))


def test_the_shortest_datagram_of_a_tunnel() -> None:
    """UDP and eight bytes: what geneve names need not be there yet."""
    assert udp(6081, b"\0\0\x86\xdd" + bytes(4)) == (0x86DD, 8)
