"""Capture files whose own bytes are hostile: headers, blocks, compression."""

import gzip
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import lz4.frame
import zstandard

from tests.capture.capture_samples import (
    block,
    enhanced,
    interface,
    option,
    pcap_header,
    pcap_packet,
    sample_pcap,
    sample_pcapng,
    section,
)
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

Make = Callable[[], bytes]


@cache
def talk() -> bytes:
    """Return some good packets to put before the damage."""
    made = Conversation().handshake()
    for number in range(4):
        made.client(request(3, 1, number, b"\xff\xff\xff\xff")).broker(response(number, bytes(12)))
    return pcap_bytes(made.packets)


def behind_talk(tail: bytes) -> Make:
    """Good packets, then other bytes."""
    return lambda: talk() + tail


def pcapng(*blocks: bytes, link: int = 1) -> Make:
    """Return a section, an interface, then these blocks."""
    return lambda: section() + interface(link=link) + enhanced(1_000_000, b"\0" * 60) + b"".join(blocks)


def _zeros(pack: Callable[[bytes], bytes], size: int) -> Make:
    return lambda: pack(talk() + bytes(size))


def _gzip_zeros() -> bytes:
    """1 GB of zeros behind good packets, in 1 MB: zlib is asked only once for the part that repeats."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = stream.compress(talk())
    chunk = bytes(1 << 20)
    return head + b"".join(stream.compress(chunk) for _ in range(64)) + stream.flush()


def _packet_bomb() -> bytes:
    """50,000 packets of nothing in a few KB."""
    packet = pcap_packet(1, bytes(12) + b"\x08\0" + bytes(46))
    return gzip.compress(pcap_header() + packet * 50_000, 1, mtime=0)


def _zstd_window() -> bytes:
    """Return a frame that asks for a window of 3.75 TB, and a block of 128 KiB from one byte."""
    return b"\x28\xb5\x2f\xfd\x00\xff" + b"\x03\x00\x10\x00" * 3


def _many_interfaces() -> bytes:
    """More interfaces than a section may have, then statistics of one after the other."""
    statistics = [
        block(5, struct.pack("<III", index, 0, 0) + option(5, struct.pack("<Q", 3))) for index in range(4000)
    ]
    return section() + interface() * 65_600 + enhanced(1, b"\0" * 60) + b"".join(statistics)


def _clock_backwards() -> bytes:
    made = Conversation().handshake()
    for number in range(6):
        made.client(request(3, 1, number, b"\xff\xff\xff\xff")).broker(response(number, bytes(12)))
        made.now -= 3600 * 10**9
    return pcap_bytes(made.packets)


def _damaged_tls() -> bytes:
    """TLS with its keys in the file, in which a record was changed."""
    found = (Path(__file__).parent.parent.parent / "fuzz" / "corpus" / "tls-13").read_bytes()
    size = int.from_bytes(found[:2]) + 2
    made = Conversation(ports=(40000, 9093)).handshake()
    at, number = size, 0
    while at < len(found):
        side, length = struct.unpack_from(">BH", found, at)
        data = bytearray(found[at + 3 : at + 3 + length])
        at += 3 + length
        number += 1
        if number == 5:
            data[-1] ^= 1
        (made.broker if side else made.client)(bytes(data))
    keys = block(10, struct.pack("<II", 0x544C534B, size - 2) + found[2:size])
    blocks = [enhanced(p.time_ns // 1000, p.data) for p in made.packets]
    return section() + keys + interface() + b"".join(blocks)


BROKEN: tuple[tuple[str, str, Make], ...] = (
    ("empty", "empty", bytes),
    ("text", "not a capture", lambda: b"Dear reader, this is no capture.\n" * 9),
    ("header-alone", "no packets", pcap_header),
    ("gzip-in-gzip", "gzip", lambda: gzip.compress(gzip.compress(talk(), mtime=0), mtime=0)),
    ("gzip-of-nothing", "empty", lambda: gzip.compress(b"", mtime=0) * 2000),
    ("zstd-of-nothing", "empty", lambda: zstandard.compress(b"") * 2000),
    ("zstd-window-of-terabytes", "corrupt zstd", _zstd_window),
    ("pcap-version-9", "version 9", lambda: pcap_header(version=(9, 0)) + pcap_packet(1, b"x" * 60)),
    ("pcap-length-of-4g", "corrupt_capture", behind_talk(struct.pack("<IIII", 1, 1, 0xFFFFFFFF, 0xFFFFFFFF))),
    ("pcap-lost-disk-block", "corrupt_capture", behind_talk(bytes(65536))),
    ("pcap-negative-length", "corrupt_capture", behind_talk(struct.pack("<IIii", 1, 1, -5, -5))),
    ("pcap-text-behind", "corrupt_capture", behind_talk(b"garbage " * 600)),
    ("pcapng-lengths-differ", "corrupt_capture", pcapng(block(6, bytes(40), trailer=52 + 4))),
    ("pcapng-length-of-5", "corrupt_capture", pcapng(struct.pack("<II", 6, 5) + bytes(20))),
    ("pcapng-length-of-2g", "corrupt_capture", pcapng(struct.pack("<II", 6, 0x7FFFFFFC) + bytes(64))),
    (
        "pcapng-other-byte-order",
        "corrupt_capture",
        pcapng(struct.pack("<IIII", 0x0A0D0D0A, 28, 7, 1) + bytes(12)),
    ),
    ("pcapng-version-7", "corrupt_capture", pcapng(section(version=7))),
    ("pcapng-no-such-interface", "corrupt_capture", pcapng(enhanced(1, b"x" * 60, index=9))),
    ("pcapng-longer-than-its-block", "corrupt_capture", pcapng(enhanced(1, b"x" * 60, length=6000))),
    (
        "pcapng-short-blocks",
        "corrupt_capture",
        pcapng(block(6, b""), block(1, b""), block(5, b""), block(10, b"")),
    ),
    (
        "pcapng-secrets-that-are-not-there",
        "corrupt_capture",
        pcapng(block(10, struct.pack("<II", 0x544C534B, 1 << 30))),
    ),
    ("pcapng-empty-packets", "corrupt_capture", pcapng(*[enhanced(1, b"")] * 200)),
    ("pcapng-65600-interfaces", "corrupt_capture", _many_interfaces),
    ("gzip-bomb-of-zeros", "corrupt_capture", _gzip_zeros),
    ("zstd-bomb-of-zeros", "corrupt_capture", _zeros(zstandard.compress, 64 << 20)),
    ("lz4-bomb-of-zeros", "corrupt_capture", _zeros(lz4.frame.compress, 16 << 20)),
    ("gzip-wrong-checksum", "corrupt_capture", lambda: gzip.compress(talk(), mtime=0)[:-8] + bytes(8)),
)
ODD: tuple[tuple[str, str, Make], ...] = (
    ("pcap-cut-header", "cut_capture", lambda: talk()[:10]),
    ("pcap-cut-packet", "cut_capture", lambda: talk()[:-20]),
    (
        "pcap-packet-of-16m-that-is-not-there",
        "cut_capture",
        lambda: (
            pcap_header(snaplen=1 << 24) + pcap_packet(1, b"\0" * 60) + pcap_packet(2, b"x", length=1 << 24)
        ),
    ),
    (
        "pcap-link-type-999",
        "unsupported_link",
        lambda: pcap_header(link=999) + pcap_packet(1, b"x" * 60) * 100,
    ),
    ("pcapng-ends-in-a-block", "cut_capture", lambda: sample_pcapng()[:-7]),
    ("gzip-cut", "cut_capture", lambda: gzip.compress(talk(), mtime=0)[:-30]),
    ("gzip-of-a-cut-capture", "cut_capture", lambda: gzip.compress(sample_pcap()[:-3], mtime=0)),
    ("gzip-packet-bomb", "malformed_packet", _packet_bomb),
    ("clock-backwards", "time_step_back", _clock_backwards),
    ("tls-with-a-damaged-record", "tls_bad_record", _damaged_tls),
)
