"""Packets whose headers lie, towers of tunnels, fragments that never end, streams that do not add up."""

import struct
from collections.abc import Callable

from kdissect.model.packets.packet import Packet
from tests.capture.capture_samples import pcap_header, pcap_packet
from tests.support.messages.traffic import ACK, BROKER, CLIENT, PSH, RST, Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

ENDS = b"\x0a\0\0\1\x0a\0\0\2"
METADATA = b"\xff\xff\xff\xff"


def raw_ip(*packets: bytes) -> bytes:
    """Return a capture of raw IP packets."""
    return pcap_header(link=101, snaplen=1 << 20) + b"".join(
        pcap_packet(n, data) for n, data in enumerate(packets, 1)
    )


def ethernet(*packets: bytes) -> bytes:
    """Return a capture of Ethernet frames."""
    return pcap_header(snaplen=1 << 20) + b"".join(pcap_packet(n, data) for n, data in enumerate(packets, 1))


def ip(
    protocol: int, payload: bytes, *, offset: int = 0, more: bool = False, ident: int = 7, total: int = -1
) -> bytes:
    """Return an IPv4 packet; `total` as given, else right."""
    length = 20 + len(payload) if total < 0 else total
    fragment = offset // 8 | (0x2000 if more else 0)
    return (
        struct.pack(">BBHHHBBH8s", 0x45, 0, length & 0xFFFF, ident, fragment, 64, protocol, 0, ENDS) + payload
    )


def tcp(data: bytes = b"", offset: int = 5) -> bytes:
    """Return a TCP header; `offset` in words."""
    return struct.pack(">HHIIHHHH", 40000, 9092, 100, 200, offset << 12 | ACK, 500, 0, 0) + data


def tower(protocol: int, header: bytes, floors: int) -> bytes:
    """Return the same tunnel inside itself."""
    packet = ip(6, tcp(b"x"))
    for _ in range(floors):
        packet = ip(protocol, header + packet)
    return raw_ip(packet)


def _extensions() -> bytes:
    chain = b"\x3c\0" + b"\0" * 6
    return struct.pack(">IHBB32s", 6 << 28, 60_000, 60, 64, bytes(32)) + chain * 7500


def _fragments(number: int, size: int, step: int, ident: int = 7) -> list[bytes]:
    return [ip(17, bytes(size), offset=n * step, more=True, ident=ident) for n in range(number)]


def _fragment_flood() -> bytes:
    """Fragments of 8 bytes from the second on, the last one first: the packet is never whole."""
    last = ip(17, bytes(8), offset=65_504 - 32)
    return raw_ip(last, *_fragments(8000, 8, 8)[1:])


def _overlapping_fragments() -> bytes:
    return raw_ip(*[ip(17, bytes(8000), offset=n * 8, more=True, ident=n & 7) for n in range(200)])


def _many_unfinished() -> bytes:
    return raw_ip(*[ip(17, bytes(64), more=True, ident=n) for n in range(2000)])


def capture(change: Callable[[Conversation], object]) -> Callable[[], bytes]:
    """Return a conversation that was changed."""

    def make() -> bytes:
        talk = Conversation().handshake().client(request(3, 1, 1, METADATA)).broker(response(1, bytes(12)))
        change(talk)
        return pcap_bytes(talk.packets)

    return make


def _again_with_other_bytes(talk: Conversation) -> None:
    last = talk.packets[-1]
    data = bytearray(last.data)
    data[-1] ^= 0xFF
    talk.packets.append(
        Packet(
            last.ref + 1,
            last.time_ns + 500_000_000,
            1,
            bytes(data[:18]) + b"\x77\x77" + bytes(data[20:]),
            len(data),
        )
    )


def _behind_a_hole(talk: Conversation) -> None:
    """9000 small segments behind a hole, of which nothing is acknowledged."""
    talk.lose(CLIENT, b"lost")
    for number in range(9000):
        talk.packet(CLIENT, bytes((number & 0xFF,)), PSH | ACK)


def _far_away(talk: Conversation) -> None:
    for number in range(50):
        talk._next[CLIENT] += (1 << 31) - 100 * number
        talk.packet(CLIENT, b"far away", PSH | ACK)


def _every_packet_twice(talk: Conversation) -> None:
    for number in range(50):
        talk.client(request(3, 1, number + 9, METADATA))
    talk.packets[:] = [packet for packet in talk.packets for _ in "ab"]


def _wraps(talk: Conversation) -> None:
    """Gaps of 512 MB, acknowledged each time, until the numbers came round twice."""
    for number in range(20):
        talk._next[CLIENT] += 1 << 29
        talk.packet(BROKER, b"")
        talk.wait(100_000_000).client(request(3, 1, number + 9, METADATA))
        talk.broker(response(number + 9, bytes(12)))


FILES: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    ("vlan-tower", "malformed_packet", lambda: ethernet(bytes(12) + b"\x81\x00\x00\x01" * 15_000)),
    ("ip-in-ip-tower", "malformed_packet", lambda: tower(4, b"", 40)),
    ("gre-tower", "malformed_packet", lambda: tower(47, b"\0\0\x08\0", 40)),
    (
        "vxlan-tower",
        "malformed_packet",
        lambda: tower(
            17, struct.pack(">HHHH", 5, 4789, 0, 0) + b"\x08" + bytes(7) + bytes(12) + b"\x08\0", 40
        ),
    ),
    ("ipv6-extensions", "malformed_packet", lambda: raw_ip(_extensions())),
    ("ip-version-9", "malformed_packet", lambda: raw_ip(b"\x95" + bytes(60))),
    (
        "ip-header-longer-than-the-packet",
        "malformed_packet",
        lambda: raw_ip(b"\x4f" + ip(6, tcp(), total=24)[1:]),
    ),
    ("tcp-header-longer-than-the-packet", "malformed_packet", lambda: raw_ip(ip(6, tcp(offset=15)))),
    ("tcp-header-of-nothing", "malformed_packet", lambda: raw_ip(ip(6, tcp(b"data", offset=0)))),
    ("tcp-cut-in-its-ports", "malformed_packet", lambda: raw_ip(ip(6, b"\x9c"))),
    ("fragments-of-8-bytes", "fragment_incomplete", _fragment_flood),
    ("fragments-that-overlap", "fragment_incomplete", _overlapping_fragments),
    ("fragments-of-2000-packets", "fragment_incomplete", _many_unfinished),
    ("overlap-with-other-bytes", "overlap_differs", capture(_again_with_other_bytes)),
    (
        "data-behind-the-end",
        "data_after_close",
        capture(lambda talk: talk.fin(CLIENT).fin(BROKER).client(b"more").broker(b"more")),
    ),
    (
        "reset-in-the-middle",
        "data_after_close",
        capture(lambda talk: talk.packet(BROKER, b"", RST | ACK).client(request(3, 1, 2, METADATA))),
    ),
    ("hole-that-is-never-filled", "reassembly_limit", capture(_behind_a_hole)),
    ("segments-from-far-away", "late_segment", capture(_far_away)),
    ("every-packet-twice", "duplicate_capture", capture(_every_packet_twice)),
    ("sequence-numbers-come-round", "gap", capture(_wraps)),
)
