"""Link, IP, tunnels, fragments, TCP headers; and the reassembly of streams."""

import struct
from random import Random

from fuzz.mutators import mutate_bytes
from fuzz.target import Target, demand
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.packets.commented import BIG, LITTLE
from kdissect.model.packets.packet import PlainPacket, packet_ref
from kdissect.model.packets.segment import ACK, FIN, PSH, RST, SYN, Segment
from kdissect.model.packets.stream import CloseKind
from kdissect.net.parser import SegmentParser
from kdissect.net.streams.tcp import TcpConnection

LINKS = (1, 113, 276, 0, 108, 101, 228, 229, 12, 9, 50, 51, 105, 127, 999, 258, 149, 239, LITTLE | 1, BIG | 1)
_HEAD = struct.Struct(">BBH")  # index of the link type, bytes cut off the packet, length


def _ip(protocol: int, payload: bytes, *, offset: int = 0, more: bool = False, ident: int = 7) -> bytes:
    total = 20 + len(payload)
    fragment = offset // 8 | (0x2000 if more else 0)
    ends = b"\x0a\0\0\1\x0a\0\0\2"
    return (
        struct.pack(">BBHHHBBH8s", 0x45, 0, total & 0xFFFF, ident, fragment, 64, protocol, 0, ends) + payload
    )


def _ip6(header: int, payload: bytes) -> bytes:
    return struct.pack(">IHBB32s", 6 << 28, len(payload), header, 64, bytes(range(32))) + payload


def _tcp(data: bytes = b"", flags: int = ACK) -> bytes:
    return struct.pack(">HHIIHHHH", 40000, 9092, 100, 200, 5 << 12 | flags, 500, 0, 0) + data


def _ethernet(kind: int, payload: bytes) -> bytes:
    return bytes(12) + kind.to_bytes(2) + payload


def _udp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", 5000, port, len(payload) + 8, 0) + payload


def packet_samples() -> list[tuple[int, bytes]]:
    """(link type, packet) of everything that is taken apart."""
    plain = _ip(6, _tcp(b"hello"))
    inner = _ethernet(0x0800, plain)
    made = [(1, inner), (1, _ethernet(0x86DD, _ip6(6, _tcp(b"six")))), (1, _ethernet(0x0806, bytes(28)))]
    made += [(1, _ethernet(0x8100, b"\0\1\x88\xa8\0\2\x08\0" + plain)), (113, bytes(14) + b"\x08\0" + plain)]
    made += [(276, b"\x08\0" + bytes(18) + plain), (0, b"\2\0\0\0" + plain), (108, b"\0\0\0\2" + plain)]
    made += [(101, plain), (12, _ip6(6, _tcp())), (228, plain), (229, _ip6(6, _tcp(b"x")))]
    made += [(1, _ethernet(0x0800, _ip(4, plain))), (1, _ethernet(0x0800, _ip(41, _ip6(6, _tcp()))))]
    made += [(101, _ip(47, b"\x30\0\x08\0" + bytes(8) + plain)), (101, _ip(47, b"\0\0\x65\x58" + inner))]
    made += [(101, _ip(17, _udp(4789, b"\x08" + bytes(7) + inner)))]
    made += [(101, _ip(17, _udp(6081, b"\1\0\x65\x58" + bytes(4) + bytes(4) + inner)))]
    tcp = _tcp(b"0123456789abcdefgh")
    made += [(101, _ip(6, tcp[:16], more=True)), (101, _ip(6, tcp[16:], offset=16))]
    fragment = b"\x06\0\0\1\0\0\0\x09" + tcp[:16]
    made += [(101, _ip6(44, fragment)), (101, _ip6(44, b"\x06\0\0\x10\0\0\0\x09" + tcp[16:]))]
    made += [(101, _ip6(0, b"\x3c\0" + bytes(6) + b"\x06\0" + bytes(6) + _tcp(b"ext")))]
    made += [(1, _ethernet(0x8847, b"\0\1\x01\x40" + plain)), (9, b"\xff\x03\0\x21" + plain)]
    made += [(51, b"\x11\0\0\1" + (len(plain) + 2).to_bytes(2) + b"\0\x21" + plain)]
    made += [(127, b"\0\0\x08\0\0\0\0\0" + b"\x08\0" + bytes(22) + b"\xaa\xaa\x03\0\0\0\x08\0" + plain)]
    made += [(105, b"\x08\0" + bytes(22) + b"\xaa\xaa\x03\0\0\0\x08\0" + plain)]
    return made + _wrapped_samples(plain, inner)


def _wrapped_samples(plain: bytes, inner: bytes) -> list[tuple[int, bytes]]:
    """PKTAP, NFLOG, comments of a capture file, ERSPAN III, GTP-U."""
    pktap = struct.pack("<III24sIIIIi20s32s", 108, 1, 1, b"en0", 2, 2, 14, 0, 77, b"java", b"")
    made = [(link, pktap + inner) for link in (258, 149)]
    made += [(239, b"\2\0\0\5\x08\0\1\0" + bytes(4) + struct.pack("<HH", len(plain) + 4, 9) + plain)]
    for mark, order in ((LITTLE, "<"), (BIG, ">")):
        text = b"PID: 7\nCmd: java\nPodName: p"
        told = struct.pack(order + "HH", 1, len(text)) + text + bytes(-len(text) & 3)
        told += struct.pack(order + "HHI", 2, 4, 1) + bytes(4)
        lengths = struct.pack(order + "II", len(inner), len(inner))
        made += [(mark | 1, lengths + inner + bytes(-len(inner) & 3) + told)]
    for last in (b"\0\0" + inner, b"\0\1" + bytes(8) + inner, b"\x08\0" + plain):
        made += [(101, _ip(47, b"\x10\0\x22\xeb" + bytes(4) + b"\x20\1" + bytes(8) + last))]
    for head in (b"\x30\xff", b"\x36\xff"):
        more = b"\0\7\0\x85\1\x10\1\0" if head[0] & 7 else b""
        made += [(101, _ip(17, _udp(2152, head + bytes(6) + more + plain)))]
    return made


def _written(packets: list[tuple[int, bytes]]) -> bytes:
    return b"".join(_HEAD.pack(LINKS.index(link), 0, len(data)) + data for link, data in packets)


RECORD_HEADER = 16  # bytes that a capture file has with each packet
HEADERS = RECORD_HEADER + 54  # and those of Ethernet, IP and TCP
MOST_CHANGED = 40  # packets of an input that is mutated


def read_packets(data: bytes, most: int = MOST_CHANGED) -> list[tuple[int, int, bytes]]:
    """(index of the link type, bytes cut, packet)."""
    found = []
    at = 0
    while at + _HEAD.size <= len(data) and len(found) < most:
        link, cut, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        found.append((link % len(LINKS), cut, data[at : at + length]))
        at += length
    return found


class Packets(Target):
    """Packets to segments."""

    name = "packets"
    about = "link layers, VLAN, MPLS, IP options and extensions, tunnels, fragments, TCP headers"
    modules = (
        "kdissect.net.parser",
        "kdissect.net.headers.combined_header",
        "kdissect.net.headers.link_header",
        "kdissect.net.headers.layers",
        "kdissect.net.headers.tunnel",
        "kdissect.net.headers.capture_wrappers",
        "kdissect.net.headers.fragments",
        "kdissect.net.headers.foreign_links",
        "kdissect.net.headers.layers",
    )
    longest = 600
    bytes_per_byte = 3000  # dpkt's packets in packets

    def seeds(self) -> list[bytes]:
        """Return each alone, and some in a row."""
        samples = packet_samples()
        return [_written([one]) for one in samples] + [
            _written(samples[at : at + 3]) for at in range(len(samples))
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Packets are changed, nested, cut, mixed with others."""
        if dice.random() < 0.2:
            return mutate_bytes(data, dice, other)
        packets = read_packets(data)
        if not packets:
            return other
        at = int(dice.random() * len(packets))
        link, cut, content = packets[at]
        kind = dice.random()
        if kind < 0.7:
            content = mutate_bytes(content, dice, content)
        elif kind < 0.8:
            link = int(dice.random() * len(LINKS))
        elif kind < 0.85:
            cut = int(dice.random() * 80)
        elif kind < 0.95:
            packets[at:at] = read_packets(other)[:4]
        else:
            content = dice.choice((_ip(4, content), _ip(41, content), _ethernet(0x0800, content)))
        packets[min(at, len(packets) - 1)] = (link, cut, content)
        return b"".join(_HEAD.pack(link, cut & 0xFF, len(data)) + data for link, cut, data in packets)

    def run(self, data: bytes) -> int:
        """Return the fused path and the general one say the same."""
        packets: list[PlainPacket] = []
        for number_, (link, cut, content) in enumerate(read_packets(data, len(data)), 1):
            kept = content[: len(content) - cut] if cut < len(content) else content[:1]
            packets.append((packet_ref(0, number_), number_ * 1000, LINKS[link], kept, len(content)))
        fast, general = SegmentParser(), SegmentParser()
        found = fast.parse_batch(packets)
        slow = [general._parse_any(packet) for packet in packets]
        demand([None if one is None else tuple(one) for one in found] == [one and tuple(one) for one in slow])
        fast.close()
        demand(len(found) == len(packets) and fast.not_tcp == found.count(None), "counts")
        for segment in found:
            if segment is not None:
                demand(
                    0 <= segment[1] < 1 << 32 and segment[6] >= 0 and len(segment[0]) in (12, 36), "a segment"
                )
        return len(data) + 2 * RECORD_HEADER * len(packets)


class _Stream:
    """A sink that checks what it is given against the content of the stream."""

    def __init__(self) -> None:
        self.bytes = 0
        self.gaps = 0
        self.ends = 0
        self.opened_at = -1
        self.parts: list[bytes | int] = []

    def opened(self) -> None:
        demand(self.opened_at < 0 and not self.bytes, "opened once, before any byte")
        self.opened_at = 0

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        demand(bool(payload) and not self.ends and ref > 0, "data before the end")
        self.bytes += len(payload)
        self.parts.append(payload)

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> None:
        demand(length > 0 and not self.ends, "a gap before the end")
        self.gaps += length
        self.parts.append(length)

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        self.ends += 1
        demand(self.ends == 1, "one end")


_STEP = struct.Struct(">BbbBBH")  # flags and direction, sequence step, acknowledgment step, bytes, cut, time
_FLAGS = (
    ACK,
    ACK,
    ACK,
    PSH | ACK,
    SYN,
    SYN | ACK,
    FIN | ACK,
    RST,
    ACK,
    PSH | ACK,
    0,
    FIN,
    FIN | SYN,
    RST | ACK,
    0,
    0,
)


_FEW = 64  # segments that wait


class ReassemblyTarget(Target):
    """Segments in any order, with any numbers."""

    name = "reassembly"
    about = "segments lost, doubled, reordered, overlapping, wrapping, cut, with any flags"
    modules = (
        "kdissect.net.streams.tcp",
        "kdissect.net.streams.reassembly",
        "kdissect.net.streams.repair",
        "kdissect.net.streams.recent",
        "kdissect.net.streams.sequence",
    )
    longest = 400

    def seeds(self) -> list[bytes]:
        """Return a talk; one that wraps; one from the middle; one with a hole."""
        open_ = _STEP.pack(4, 0, 0, 0, 0, 1) + _STEP.pack(0x15, 0, 0, 0, 0, 1) + _STEP.pack(0, 0, 0, 0, 0, 1)
        talk = b"".join(_STEP.pack(0x10 * (n & 1), 0, 0, 20 + n, 0, 1) for n in range(8))
        hole = b"".join(_STEP.pack(0x10 * (n & 1), n, 0, 20, 0, 1) for n in range(6))
        cut = b"".join(_STEP.pack(0, 0, 0, 9, 3, 9999) for _ in range(5))
        end = _STEP.pack(6, 0, 0, 0, 0, 1) + _STEP.pack(0x16, 0, 0, 0, 0, 1)
        starts = (bytes(4), b"\xff\xff\xff\xf0", b"\x7f\xff\xff\xe0")
        return [
            start + head + body + end
            for start in starts
            for head in (b"", open_)
            for body in (talk, hole, cut)
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Swap, double, drop and change whole steps half the time."""
        if dice.random() < 0.4:
            return mutate_bytes(data, dice, other)
        size = _STEP.size
        steps = [data[at : at + size] for at in range(4, len(data) - size + 1, size)]
        for _ in range(1 + int(dice.random() * 3)):
            if not steps:
                break
            at, to = int(dice.random() * len(steps)), int(dice.random() * len(steps))
            kind = int(dice.random() * 5)
            if kind == 0:
                steps[at], steps[to] = steps[to], steps[at]
            elif kind == 1:
                steps.insert(to, steps[at])
            elif kind == 2:
                del steps[at]
            elif kind == 3:
                start = 4 + int(dice.random() * (len(other) // size)) * size
                steps.insert(at, other[start : start + size].ljust(size, b"\0"))
            else:
                steps[at] = mutate_bytes(steps[at], dice, other)[:size].ljust(size, b"\0")
        return data[:4] + b"".join(steps)

    def grow(self, parts: list[bytes]) -> bytes:
        """Under the head of the first."""
        return parts[0][:4] + b"".join(part[4:] for part in parts)

    def run(self, data: bytes) -> int:
        """Streams without a break; what is delivered is what was sent; bounds hold."""
        sinks = _Stream(), _Stream()
        tcp = TcpConnection(sinks)
        # Where the next byte of a direction stands, and its first; bytes of a stream are told by their place.
        first = int.from_bytes(data[:4].ljust(4, b"\0"))
        nexts = [first, (first * 7 + 13) & 0xFFFFFFFF]
        now, ref = 1000, 0
        lies = False
        for at in range(4, len(data) - _STEP.size + 1, _STEP.size):
            what, step, back, length, cut, wait = _STEP.unpack_from(data, at)
            side = what >> 4 & 1
            flags = _FLAGS[what & 15]
            jump = step * (1 if what & 0x20 else 1 << 24 if what & 0x40 else 16)
            lies = lies or what & 0x40 != 0 or bool(flags & SYN and at > 4 + 2 * _STEP.size)
            seq = (nexts[side] + jump) & 0xFFFFFFFF
            ack = (nexts[1 - side] + back * (1 << 24 if what & 0x80 else 8)) & 0xFFFFFFFF
            payload = _content(seq + bool(flags & SYN), length)
            missing = min(cut, length)
            kept = payload[: length - missing]
            now += wait * (1 if wait & 1 else 1_000_000)
            ref += 1
            segment = Segment(bytes(12), seq, ack, flags, wait & 0xFF, kept, missing, ref & 0xFF)
            tcp.feed(side, segment, ref, now)
            if not flags & RST and -200 < jump < 4000:
                nexts[side] = (seq + length + bool(flags & SYN) + bool(flags & FIN)) & 0xFFFFFFFF
            for stream in tcp._streams:
                if len(stream.odd.out_of_order_segments) > _FEW and ref % _FEW:
                    continue  # counting all at each step would take a time by the square
                held = sum(len(one.payload) for one in stream.odd.out_of_order_segments)
                demand(
                    held
                    == stream.odd.out_of_order_bytes
                    <= DEFAULT_LIMITS.direction_out_of_order_bytes + 65536,
                    "bytes out of order",
                )
                demand(
                    len(stream.odd.out_of_order_segments)
                    <= DEFAULT_LIMITS.direction_out_of_order_segments + 1,
                    "segments out of order",
                )
        tcp.flush(CloseKind.CAPTURE_END, now)
        for sink, stream in zip(sinks, tcp._streams, strict=True):
            demand(sink.ends == 1, "ended")
            demand(sink.bytes + sink.gaps == stream.offset, "no byte is left out")
            demand(sink.bytes == stream.health().bytes, "counted")
            if not lies and stream.start_seq >= 0:
                _same(sink.parts, stream.start_seq)
        return ref * HEADERS + sum(sink.bytes for sink in sinks) - len(data)


def _content(seq: int, length: int) -> bytes:
    """Return the stream's content by its position: the byte with sequence number n is n * 31, mixed."""
    return bytes(((seq + at) * 31 >> 2) & 0xFF for at in range(length))


def _same(parts: list[bytes | int], start: int) -> None:
    at = start
    for part in parts:
        if isinstance(part, int):
            at += part
            continue
        # Behind a wrap the place is that of the number on the wire.
        begin = at & 0xFFFFFFFF
        if begin + len(part) <= 1 << 32:
            demand(part == _content(begin, len(part)), f"other bytes at {at - start}")
        at += len(part)
