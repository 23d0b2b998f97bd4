"""Plain packets, read with one unpack: without the general path, and as the general path reads them."""

import struct
from collections.abc import Iterator

import pytest

from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.segment import DSACK
from kdissect.net import parser
from kdissect.net.headers import layers
from kdissect.net.headers.combined_header import read_plain

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
    """Return the segment, and what was reported of the packet."""
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
    """Yield the packet with one byte of its headers changed, padded, cut, or with other flags."""
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


WHOLE = ipv4(tcp(b"", PAYLOAD))
WHOLE_V6 = ipv6(tcp(b"", PAYLOAD))


@pytest.mark.parametrize(
    ("at", "value", "is_plain"),
    [
        (0, 0x45, True), (0, 0x44, False), (0, 0x46, False), (0, 0x55, False), (0, 0x35, False),
        (3, 40 + len(PAYLOAD), True), (3, 40, True), (3, 39, False), (3, 0, False),
        (6, 0x00, True), (6, 0x80, True), (6, 0x40, True), (6, 0x20, False), (6, 0x01, False), (7, 1, False),
        (9, 6, True), (9, 5, False), (9, 7, False), (32, 0x50, True), (32, 0x4F, False), (32, 0x80, True),
        (32, 0x90, False),
    ],
)  # fmt: skip
def test_a_byte_of_a_plain_packet(at: int, value: int, is_plain: bool) -> None:
    """RFC 791 section 3.1, RFC 9293 section 3.1: five words of header, whole, TCP within the length."""
    data = WHOLE[:at] + bytes((value,)) + WHOLE[at + 1 :]
    assert (read_plain(data, 0) is not None) is is_plain
    assert (read_plain(b"link" + data, 4) is not None) is is_plain


@pytest.mark.parametrize(
    ("at", "value", "is_plain"),
    [
        (0, 0x60, True), (0, 0x6F, True), (0, 0x70, False), (0, 0x50, False), (5, 20, True), (5, 19, False),
        (6, 6, True), (6, 5, False), (6, 44, False), (52, 0x50, True), (52, 0x4F, False),
    ],
)  # fmt: skip
def test_a_byte_of_a_plain_packet_of_ipv6(at: int, value: int, is_plain: bool) -> None:
    """RFC 8200 section 3."""
    data = WHOLE_V6[:at] + bytes((value,)) + WHOLE_V6[at + 1 :]
    assert (read_plain(data, 0) is not None) is is_plain


@pytest.mark.parametrize("missing", [0, 1, len(PAYLOAD), len(PAYLOAD) + 1])
@pytest.mark.parametrize(("data", "ip_id"), [(WHOLE, 4711), (WHOLE_V6, -1)], ids=["ipv4", "ipv6"])
def test_what_a_snap_length_cut(data: bytes, ip_id: int, missing: int) -> None:
    found = read_plain(data[: len(data) - missing], 0)
    if missing > len(PAYLOAD):
        # The last four bytes of the header, checksum and urgent pointer, are not looked at.
        assert found is not None and found[5:7] == (b"", len(PAYLOAD))
        assert read_plain(data[: len(data) - len(PAYLOAD) - 5], 0) is None
        return
    assert found is not None
    assert found[1:3] == (0xFFFFFFF0, 77) and found[4] == 501 and found[7] == ip_id
    assert found[5:7] == (PAYLOAD[: len(PAYLOAD) - missing], missing)


@pytest.mark.parametrize(
    ("words", "payload", "is_looked_for"),
    [(8, b"", True), (9, b"", True), (8, PAYLOAD, False), (9, PAYLOAD, True)],
)
def test_where_options_are_looked_at(words: int, payload: bytes, is_looked_for: bool) -> None:
    """Eight words with data are those of a timestamp: DSACK is not looked for (RFC 7323 section 3.2)."""
    for duplicate in (DUPLICATE, DUPLICATE[2:] + b"\1\1"):
        options = duplicate + b"\1" * (4 * (words - 8))
        found = read_plain(ipv4(tcp(options, payload)), 0)
        assert found is not None
        assert bool(found[3] & DSACK) is is_looked_for
