"""One TCP connection as packets: handshake, segments with correct checksums, acknowledgements, FIN.

IPv4 without options, TCP with timestamps (RFC 7323), on Ethernet or BSD loopback (LINKTYPE_NULL).
A ones' complement sum (RFC 1071) is a sum of 16-bit words modulo 65535, where 2**16 = 1: so a payload's sum
is its value as one big number modulo 65535, one C call, and 32-bit fields are added as they are.
"""

from __future__ import annotations

import struct
from random import Random
from typing import NamedTuple

from .options import Profile
from .sink import Sink

HEADER_BYTES = 82  # a packet without payload in the file: pcap 16 + Ethernet 14 + IPv4 20 + TCP 32
FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10
WORDS_8 = 0x8000  # data offset of 8 words: 20 bytes and the timestamp option
WORDS_10 = 0xA000  # 20 bytes and the options of a SYN
TIMESTAMP_OPTION = 0x0101080A  # NOP, NOP, kind 8, length 10 (RFC 7323 section 3.2)
WINDOW = 502  # scaled by 2**7: the usual 64 KB of Linux
SYN_WINDOW = 64240
NULL_HEAD = struct.pack("<I", 2)  # AF_INET in the writer's byte order
ETHERTYPE_IPV4 = b"\x08\x00"
SWAP_SPAN = 2  # segments that may change places
FLAGS_TTL_TCP = 0x4000_4006  # do not fragment; TTL 64; protocol 6
MASK = 0xFFFFFFFF
_headers = struct.Struct(">HHHIH12sIIHHHHIII")
_syn_headers = struct.Struct(">HHHIH12sIIHHHH20s")
_syn_options = struct.Struct(">HHHBBIIBBBB")  # MSS; SACK permitted; timestamps; NOP; window scale 7


def checksum(total: int) -> int:
    """Internet checksum of words that add up to `total`."""
    return -total % 65535


def payload_sum(payload: bytes | memoryview) -> int:
    """Words of a payload added up modulo 65535, an odd last byte padded with zero."""
    total = int.from_bytes(payload, "big") % 65535
    return total << 8 if len(payload) & 1 else total


class Half:
    """One side's sending state."""

    __slots__ = (
        "_clock_ms",
        "addresses_ports",
        "ip_id",
        "ip_sum",
        "link",
        "seq",
        "stamp",
        "tcp_sum",
        "unacked",
    )

    def __init__(self, random: Random, link: bytes, addresses: bytes, ports: bytes) -> None:
        self.link = link
        self.addresses_ports = addresses + ports
        words = sum(struct.unpack(">4H", addresses))
        self.ip_sum = 0x4500 + 0x4000 + 0x4006 + words
        self.tcp_sum = 6 + words + sum(struct.unpack(">2H", ports))
        self.seq = random.getrandbits(32)
        self.ip_id = random.getrandbits(16)
        self._clock_ms = random.getrandbits(31)
        self.stamp = 0
        """The last timestamp sent, which the peer echoes."""
        self.unacked = 0
        """Segments received and not acknowledged."""

    def tick(self, now_ns: int) -> int:
        """Return the timestamp option's value: milliseconds of this host's own clock."""
        self.stamp = (self._clock_ms + now_ns // 1_000_000) & MASK
        return self.stamp


def segment(half: Half, peer: Half, flags: int, payload: bytes | memoryview, now_ns: int) -> bytes:
    """Link, IP and TCP header of one segment. The hot path: one `pack`, sums kept as plain numbers."""
    size = len(payload)
    ip_id = half.ip_id = (half.ip_id + 1) & 0xFFFF
    stamp = half.tick(now_ns)
    word = WORDS_8 | flags
    total = (
        half.tcp_sum + 32 + size + half.seq + peer.seq + word + WINDOW + TIMESTAMP_OPTION + stamp + peer.stamp
    )
    if size:
        total += payload_sum(payload)
    half.unacked = 0
    return half.link + _headers.pack(
        0x4500,
        52 + size,
        ip_id,
        FLAGS_TTL_TCP,
        -(half.ip_sum + 52 + size + ip_id) % 65535,
        half.addresses_ports,
        half.seq,
        peer.seq,
        word,
        WINDOW,
        -total % 65535,
        0,
        TIMESTAMP_OPTION,
        stamp,
        peer.stamp,
    )


def syn(half: Half, peer: Half, mss: int, answers: bool, now_ns: int) -> bytes:
    """Headers of a SYN, or of the SYN-ACK that answers one."""
    ip_id = half.ip_id = (half.ip_id + 1) & 0xFFFF
    stamp = half.tick(now_ns)
    echo, ack = (peer.stamp, peer.seq) if answers else (0, 0)
    word = WORDS_10 | SYN | (ACK if answers else 0)
    # The advertised MSS does not count the timestamp option (RFC 6691).
    options = _syn_options.pack(0x0204, mss + 12, 0x0402, 8, 10, stamp, echo, 1, 3, 3, 7)
    total = half.tcp_sum + 40 + half.seq + ack + word + SYN_WINDOW + payload_sum(options)
    return half.link + _syn_headers.pack(
        0x4500,
        60,
        ip_id,
        FLAGS_TTL_TCP,
        checksum(half.ip_sum + 60 + ip_id),
        half.addresses_ports,
        half.seq,
        ack,
        word,
        SYN_WINDOW,
        checksum(total),
        0,
        options,
    )


class Endpoints(NamedTuple):
    """Both sides' IPv4 addresses and ports, and the link below them."""

    client: bytes
    client_port: int
    broker: bytes
    broker_port: int
    link: str
    loopback: bool


def _link_head(source: bytes, target: bytes, ends: Endpoints) -> bytes:
    if ends.link == "null":
        return NULL_HEAD
    if ends.loopback:
        return bytes(12) + ETHERTYPE_IPV4
    # Locally administered MACs made of the addresses, as containers have them.
    return b"\x02\x42" + target + b"\x02\x42" + source + ETHERTYPE_IPV4


class Flow:
    """A connection's two halves on one sink. Broker to client is direction 1, client to broker 0."""

    __slots__ = ("_ack_every", "_halves", "_mss", "_random", "_reorder", "_sink")

    def __init__(self, random: Random, sink: Sink, ends: Endpoints, profile: Profile, reorder: float) -> None:
        there = _link_head(ends.client, ends.broker, ends), ends.client + ends.broker
        back = _link_head(ends.broker, ends.client, ends), ends.broker + ends.client
        self._halves = (
            Half(random, *there, struct.pack(">HH", ends.client_port, ends.broker_port)),
            Half(random, *back, struct.pack(">HH", ends.broker_port, ends.client_port)),
        )
        self._sink = sink
        self._mss = profile.mss
        self._ack_every = profile.ack_every
        self._random = random
        self._reorder = reorder

    def _empty(self, direction: int, flags: int) -> None:
        half, peer = self._halves[direction], self._halves[1 - direction]
        self._sink.put(segment(half, peer, flags, b"", self._sink.clock), b"")

    def open(self, step: int) -> None:
        """One of the three packets of the handshake, `step` 0 to 2."""
        client, broker = self._halves
        if step == 2:
            self._empty(0, ACK)
            return
        half, peer = (client, broker) if step == 0 else (broker, client)
        self._sink.put(syn(half, peer, self._mss, step == 1, self._sink.clock), b"")
        half.seq = (half.seq + 1) & MASK

    def close(self, step: int) -> None:
        """One of the four packets of an orderly close by the client, `step` 0 to 3."""
        self._empty(step in (1, 2), FIN | ACK if step in (0, 2) else ACK)
        if step in (0, 2):
            half = self._halves[step == 2]
            half.seq = (half.seq + 1) & MASK

    def acknowledge(self) -> bool:
        """Send the ACKs both sides still owe (the delayed ACK's timer); True when there was one."""
        owed = [direction for direction in (0, 1) if self._halves[direction].unacked]
        for direction in owed:
            self._empty(direction, ACK)
        return bool(owed)

    def send(self, direction: int, data: memoryview, last: bool) -> list[tuple[int, int]]:
        """Send `data` as full segments, with the peer's ACKs between them; PSH on the end of a write.

        Returns the parts of `data` (start, end) that the capture missed.
        """
        half, peer = self._halves[direction], self._halves[1 - direction]
        missed: list[tuple[int, int]] = []
        held: list[tuple[bytes, int, int]] = []
        mss, size, sink = self._mss, len(data), self._sink
        for start in range(0, size, mss):
            end = min(start + mss, size)
            payload = data[start:end]
            flags = PSH | ACK if last and end == size else ACK
            held.append((segment(half, peer, flags, payload, sink.clock), start, end))
            half.seq = (half.seq + end - start) & MASK
            peer.unacked += 1
            owed = peer.unacked >= self._ack_every
            if not owed and len(held) < SWAP_SPAN and end < size:
                continue
            missed += self._put(held, data)
            held.clear()
            if owed:
                self._empty(1 - direction, ACK)
        return missed

    def _put(self, held: list[tuple[bytes, int, int]], data: memoryview) -> list[tuple[int, int]]:
        """Emit up to two segments, seldom the second one first: only what lies between two ACKs."""
        if len(held) == SWAP_SPAN and self._reorder and self._random.random() < self._reorder:
            held.reverse()
            self._sink.swapped += 2
        put = self._sink.put
        return [(start, end) for head, start, end in held if not put(head, data[start:end])]
