"""Plain packets, read with one unpack: without the general path, and as the general path reads them."""

import struct
from collections.abc import Iterator

import pytest

from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.net import parser
from kdissect.net.headers import layers

PAYLOAD = b"\0\0\0\x08kafka-01"
TIMESTAMPS = b"\1\1\x08\x0a" + struct.pack(">II", 1, 2)
# RFC 2018 section 3: the first block is acknowledged already (RFC 2883 section 4).
DUPLICATE = b"\1\1\5\x0a" + struct.pack(">II", 60, 70)
ENDS_V4 = b"\x0a\1\2\3\x0a\x09\x08\7"
ENDS_V6 = bytes(range(32))
PORTS = struct.pack(">HH", 40001, 9092)
LINKS = {
    LinkType.ETHERNET: bytes(12) + b"\x08\0",
    LinkType.LINUX_SLL: bytes(14) + b"\x08\0",
    LinkType.LINUX_SLL2: b"\x08\0" + bytes(18),
    LinkType.NULL: b"\2\0\0\0",
    LinkType.LOOP: b"\0\0\0\2",
    LinkType.RAW: b"",
    LinkType.IPV4: b"",
}


def tcp(options: bytes, payload: bytes) -> bytes:
    words = 5 + len(options) // 4
    head = PORTS + struct.pack(">IIHHHH", 0xFFFFFFF0, 77, words << 12 | 0x18, 501, 0, 0)
    return head + options + payload


def ipv4(segment: bytes) -> bytes:
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 4711, 0x4000, 64, 6, 0) + ENDS_V4 + segment


def ipv6(segment: bytes) -> bytes:
    return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + ENDS_V6 + segment


SEGMENTS = [tcp(options, PAYLOAD) for options in (b"", TIMESTAMPS, DUPLICATE)] + [
    tcp(b"", b""),
    tcp(DUPLICATE, b""),
]
FRAMES = [(link, head + ipv4(segment)) for link, head in LINKS.items() for segment in SEGMENTS]
V6_FRAMES = [(LinkType.ETHERNET, bytes(12) + b"\x86\xdd" + ipv6(segment)) for segment in SEGMENTS]


def str_of(value: int | bytes) -> str:
    """Part of the name of a case."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def parsed(link_type: int, data: bytes, wire_length: int | None = None) -> tuple[object, ...]:
    """The segment, and what was reported of the packet."""
    reader = parser.SegmentParser()
    found = reader.parse(Packet(1, 1, link_type, data, len(data) if wire_length is None else wire_length))
    return found, reader.malformed, reader.others


@pytest.fixture
def only_general(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        patch.setattr(parser, "COMBINED_HEADERS", {})
        patch.setattr(layers, "read_plain", lambda *_: None)
        yield patch


def changed(data: bytes) -> Iterator[bytes]:
    """The packet with one byte of its headers changed, padded, cut, or with other flags."""
    for at in range(len(data) - len(PAYLOAD)):
        for value in {0, 1, 0xFF, data[at] ^ 1, data[at] ^ 0x10, data[at] ^ 0x20, data[at] ^ 0x80}:
            yield data[:at] + bytes((value,)) + data[at + 1 :]
    yield data + bytes(6)  # Ethernet's padding
    for cut in range(len(data)):
        yield data[:cut]
    at = data.index(PORTS) + 12
    for words in range(16):
        for flags in (0, 0x18, 0xFFF):
            yield data[:at] + struct.pack(">H", words << 12 | flags) + data[at + 2 :]


@pytest.mark.parametrize(("link_type", "data"), [*FRAMES[:5], *FRAMES[-5:], *V6_FRAMES], ids=str_of)
def test_damage_is_read_as_the_general_path_reads_it(
    link_type: int, data: bytes, only_general: pytest.MonkeyPatch
) -> None:
    packets = list(changed(data))
    general = [parsed(link_type, each, len(data)) for each in packets]
    only_general.undo()
    assert [parsed(link_type, each, len(data)) for each in packets] == general


@pytest.mark.parametrize(("link_type", "data"), FRAMES, ids=str_of)
def test_a_plain_packet_needs_no_layers(link_type: int, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The general path takes several times as long."""
    expected = parsed(link_type, data)
    monkeypatch.setattr(parser.SegmentParser, "_all_layers", None)
    assert parsed(link_type, data) == expected


@pytest.mark.parametrize(("link_type", "data"), V6_FRAMES, ids=str_of)
def test_ipv6_needs_no_general_headers(link_type: int, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parsed(link_type, data)
    monkeypatch.delattr(layers, "read_ip")
    assert parsed(link_type, data) == expected
