"""The capture point: one clock, one pcap file, and what it fails to see."""

from __future__ import annotations

import struct
from random import Random
from typing import BinaryIO

MAGIC_NANOSECONDS = 0xA1B23C4D  # pcap with nanosecond timestamps (draft-ietf-opsawg-pcap, section 4)
SNAPLEN = 262144  # tcpdump's default
FILE_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
VXLAN = "vxlan"
LINK_TYPES = {"ethernet": 1, "null": 0, VXLAN: 1}  # LINKTYPE_ETHERNET, LINKTYPE_NULL
START_NS = 1_760_000_000 * 10**9 + 123_456_789  # a fixed moment in October 2025: runs must not differ
FLUSH_BYTES = 1 << 20  # of packets joined into one write: a few system calls a MB, memory stays flat
ETHERNET_BYTE_NS = 0.8  # 10 Gbit/s
LOOPBACK_BYTE_NS = 0.12  # a copy in memory
PACKET_NS = 300  # least time between two packets


# VXLAN (RFC 7348 section 5) with network identifier 77, in UDP to port 4789 between two virtual switches.
_vxlan = struct.Struct(">12sHHHHIH8sHHHHII")
_SWITCHES = bytes((10, 250, 0, 1, 10, 250, 0, 2))
_VXLAN_SUM = 0x4500 + 0x4000 + 0x4011 + sum(struct.unpack(">4H", _SWITCHES))


def in_vxlan(size: int) -> bytes:
    """Return the headers around an Ethernet frame of so many bytes, down to an outer Ethernet header.

    The UDP checksum is 0, as RFC 7348 section 5 advises.
    """
    length = size + 36  # IPv4 20, UDP 8, VXLAN 8
    checksum = -(_VXLAN_SUM + length) % 65535
    ip = (0x4500, length, 0, 0x4000_4011, checksum, _SWITCHES)
    return _vxlan.pack(bytes(12), 0x0800, *ip, 49152, 4789, length - 20, 0, 0x0800_0000, 77 << 8)


class Sink:
    """Writes packets in time order: each takes its time on the one shared link, so time never steps back."""

    def __init__(self, file: BinaryIO, link: str, loopback: bool, random: Random, loss: float) -> None:
        self.clock = START_NS
        self.packets = 0
        self.lost = 0
        self.swapped = 0
        self.written = FILE_HEADER.size
        self.last = START_NS
        self._byte_ns = LOOPBACK_BYTE_NS if loopback else ETHERNET_BYTE_NS
        self._file = file
        self._random = random
        self._loss = loss
        self._in_vxlan = link == VXLAN
        self._chunks: list[bytes | memoryview] = []
        self._pending = 0
        file.write(FILE_HEADER.pack(MAGIC_NANOSECONDS, 2, 4, 0, 0, SNAPLEN, LINK_TYPES[link]))

    def put(self, head: bytes, payload: bytes | memoryview) -> bool:
        """Append one packet, now; False when the capture misses it (`loss`), though it was received."""
        if self._in_vxlan:
            head = in_vxlan(len(head) + len(payload)) + head
        length = len(head) + len(payload)
        # Low bits of the length and count stand in for jitter: a random number here would double the cost.
        clock = self.clock + PACKET_NS + int(length * self._byte_ns) + ((self.packets * 37 + length) & 0x7F)
        self.clock = clock
        if self._loss and self._random.random() < self._loss:
            self.lost += 1
            return False
        seconds, nanoseconds = divmod(clock, 1_000_000_000)
        self._chunks.append(RECORD_HEADER.pack(seconds, nanoseconds, length, length) + head)
        self._chunks.append(payload)
        self.packets += 1
        self.written += length + 16
        self._pending += length
        self.last = clock
        if self._pending >= FLUSH_BYTES:
            self.flush()
        return True

    def flush(self) -> None:
        """Hand what is pending to the file."""
        self._file.write(b"".join(self._chunks))
        self._chunks.clear()
        self._pending = 0
