"""Readers of capture files: pcap, pcapng, and both compressed."""

import gzip
import io
import struct
from itertools import pairwise
from random import Random
from typing import ClassVar

import lz4.frame
import zstandard

from fuzz.mutators import NUMBERS, mutate_bytes, number
from fuzz.target import Target, demand
from kdissect.capture.compression import detect_compression
from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_parser import CaptureParser
from kdissect.capture.formats.pcap import PcapParser
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.model.packets.packet import PlainPacket
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

_FIND_MAGIC = struct.Struct("<I")


class ParserTarget(Target):
    """A parser of capture files: any cut of the input gives the same packets, anomalies and counts."""

    parser: ClassVar[type[CaptureParser]]

    def run(self, data: bytes) -> int:
        """Whole, in three pieces, and byte by byte where the input is short."""
        whole = self._read(data, [0, len(data)])
        _check(whole[0])
        third = len(data) // 3 + 1
        demand(self._read(data, [0, third, third + third // 2, len(data)]) == whole, "in pieces")
        if len(data) < 300:
            demand(self._read(data, range(len(data) + 1)) == whole, "byte by byte")
        return len(data)

    def _read(self, data: bytes, edges: "list[int] | range") -> tuple[list[PlainPacket], tuple[object, ...]]:
        parser = self.parser(0)
        packets = [packet for a, b in pairwise(edges) if a < b for packet in parser.feed(data[a:b])]
        parser.close()
        demand(parser.packets == len(packets), "packets counted")
        demand(parser.captured_bytes == sum(len(packet[3]) for packet in packets), "bytes counted")
        found = (
            parser.packets,
            parser.captured_bytes,
            parser.anomalies,
            parser.error,
            parser.link_types,
            parser.drops,
            parser.secrets,
        )
        return packets, found


def _check(packets: list[PlainPacket]) -> None:
    for index, (ref, time_ns, _, data, wire) in enumerate(packets, 1):
        demand(ref == index and -(1 << 63) <= time_ns < 1 << 63 and wire >= len(data), "a packet's facts")
        demand(type(data) is bytes, "owned bytes")


class Pcap(ParserTarget):
    """Classic capture files."""

    name = "pcap"
    about = "classic capture files: cut anywhere, lengths and times of any value"
    modules = ("kdissect.capture.formats.pcap", "kdissect.capture.formats.capture_parser")
    parser = PcapParser

    def seeds(self) -> list[bytes]:
        """Return both byte orders, both units of time, the modified form."""
        made = [sample_pcap(), sample_pcap(range(30), 4), sample_pcap([])]
        for order in "<>":
            for magic in (0xA1B2C3D4, 0xA1B23C4D):
                head = pcap_header(order, magic, snaplen=1 << 20)
                made.append(head + pcap_packet(7, b"abc", order=order, wire=9) * 2)
            head = pcap_header(order, 0xA1B2CD34)
            packet = struct.pack(order + "IIIIIHBB", 1, 2, 4, 4, 0, 0, 0, 0) + b"data"
            made.append(head + packet * 3)
        return made

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Half the time a word of a header is changed."""
        if dice.random() < 0.5 or len(data) < 40:
            return mutate_bytes(data, dice, other)
        out = bytearray(data)
        at = 24
        places = [0, 4, 8, 12, 16, 20]
        while at + 16 <= len(data) and len(places) < 200:
            places += [at, at + 4, at + 8, at + 12]
            at += 16 + min(int.from_bytes(data[at + 8 : at + 12], "little"), 1 << 12)
        struct.pack_into("<I" if dice.random() < 0.8 else ">I", out, dice.choice(places), _word(dice))
        return bytes(out)

    def grow(self, parts: list[bytes]) -> bytes:
        """Return the header of the first, packets of all."""
        return parts[0][:24] + b"".join(part[24:] for part in parts)


def _word(dice: Random) -> int:
    value = dice.choice(NUMBERS) if dice.random() < 0.7 else int(dice.random() * 100)
    return value & 0xFFFFFFFF


class Pcapng(ParserTarget):
    """The newer capture files."""

    name = "pcapng"
    about = "pcapng: blocks dropped, doubled, swapped, changed, with lengths that lie"
    modules = (
        "kdissect.capture.formats.pcapng",
        "kdissect.capture.formats.pcapng",
        "kdissect.capture.formats.capture_parser",
    )
    parser = PcapngParser

    def seeds(self) -> list[bytes]:
        """Return every kind of block in both byte orders."""
        made = [sample_pcapng(range(3)), sample_pcapng(range(2), ">"), sample_pcapng([])]
        for order in "<>":
            options = option(9, b"\x09", order) + option(14, bytes(8), order) + option(0, b"", order)
            strange = option(9, b"\x8a", order) + option(14, b"\xff" * 8, order)
            parts = [section(order), interface(order, options=options), interface(order, 101, 9, strange)]
            parts += [enhanced(5, b"abcde", order=order, index=1), enhanced(6, b"", order=order)]
            parts.append(block(3, struct.pack(order + "I", 3) + b"abc", order))
            parts.append(block(2, struct.pack(order + "HHIIII", 0, 7, 0, 9, 4, 4) + b"data", order))
            drops = option(5, struct.pack(order + "Q", 3), order)
            parts.append(block(5, struct.pack(order + "III", 0, 0, 0) + drops, order))
            parts.append(block(10, struct.pack(order + "II", 0x544C534B, 8) + b"CLIENT_R", order))
            made += [b"".join(parts), b"".join(parts) + section("<" if order == ">" else ">")]
        return made

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Blocks are taken apart and put together again, mostly with right lengths."""
        if dice.random() < 0.35:
            return mutate_bytes(data, dice, other)
        blocks = _blocks(data)
        foreign = _blocks(other)
        for _ in range(1 + int(dice.random() * 3)):
            _change(blocks, foreign, dice)
        return b"".join(blocks)


def _blocks(data: bytes) -> list[bytes]:
    """Return the blocks as far as lengths lead, the rest as one."""
    found = []
    at = 0
    order = "little"
    while at + 12 <= len(data) and len(found) < 100:
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "big" if data[at + 8 : at + 12] == b"\x1a\x2b\x3c\x4d" else "little"
        size = int.from_bytes(data[at + 4 : at + 8], order)  # type: ignore[arg-type]
        if size < 12 or at + size > len(data):
            break
        found.append(data[at : at + size])
        at += size
    return [*found, data[at:]] if at < len(data) else found


def _change(blocks: list[bytes], foreign: list[bytes], dice: Random) -> None:
    if not blocks:
        return
    at = int(dice.random() * len(blocks))
    kind = dice.random()
    if kind < 0.1:
        del blocks[at]
    elif kind < 0.2:
        blocks.insert(int(dice.random() * len(blocks)), blocks[at])
    elif kind < 0.35 and foreign:
        blocks.insert(at, dice.choice(foreign))
    elif kind < 0.5:
        other = int(dice.random() * len(blocks))
        blocks[at], blocks[other] = blocks[other], blocks[at]
    else:
        blocks[at] = _changed(blocks[at], dice)


def _changed(one: bytes, dice: Random) -> bytes:
    if len(one) < 12:
        return mutate_bytes(one, dice, one)
    order = dice.choice("<<<>")
    if dice.random() < 0.15:
        return (
            struct.pack(order + "I", dice.choice((1, 2, 3, 4, 5, 6, 10, 0x0A0D0D0A, _word(dice)))) + one[4:]
        )
    body = mutate_bytes(one[8:-4], dice, one) if dice.random() < 0.6 else _with_word(one[8:-4], dice, order)
    body += bytes(-len(body) & 3)
    little = one[4:8] == struct.pack("<I", len(one))
    return one[:4] + (total := struct.pack("<I" if little else ">I", len(body) + 12)) + body + total


def _with_word(body: bytes, dice: Random, order: str) -> bytes:
    if len(body) < 4:
        return body
    out = bytearray(body)
    struct.pack_into(order + "I", out, int(dice.random() * (len(body) // 4)) * 4, _word(dice))
    return bytes(out)


class Compressed(Target):
    """Captures inside gzip, zstd and lz4."""

    name = "compressed"
    about = "gzip, zstd and lz4 around captures, damaged inside and outside, in any chunks"
    modules = (
        "kdissect.capture.compression",
        "kdissect.capture.zstd_frames",
        "kdissect.capture.capture_file",
    )
    # What a decompressor takes to begin with: windows and tables of the libraries.
    bytes_per_byte = 4000

    def seeds(self) -> list[bytes]:
        """Return each with one frame and several."""
        made = []
        for content in (sample_pcap(range(20)), sample_pcapng(range(3))):
            for pack in _PACKERS:
                made += [pack(content), pack(content[:100]) + pack(content[100:]), pack(content) + bytes(9)]
        made.append(b"\x51\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(sample_pcap()))
        made.append(
            zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(sample_pcap())
        )
        return made

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Half the time what is inside is changed and compressed again."""
        if dice.random() < 0.6:
            return mutate_bytes(data, dice, other)
        inside = mutate_bytes(sample_pcap(range(4)), dice, data)
        packed = dice.choice(_PACKERS)(inside)
        if dice.random() < 0.3:
            packed = packed[: int(dice.random() * len(packed))] + number(dice) + packed
        return packed

    def run(self, data: bytes) -> int:
        """In one chunk and in small ones."""
        packets, outcome, size = _read(data, 1 << 16)
        again = _read(data, 1 if len(data) < 120 else 37)
        if packed_as(data) == "lz4":  # its library forgets what a piece gave before the fault in it
            short, long = sorted((packets, again[0]), key=len)
            demand(long[: len(short)] == short, "chunks")
        else:
            demand((packets, outcome) == again[:2], "chunks")
        _check(packets)
        return size * 2


def _read(data: bytes, chunk: int) -> tuple[list[PlainPacket], tuple[object, ...], int]:
    stream = io.BytesIO(data)

    class Pieces:
        def read1(self, size: int) -> bytes:
            return stream.read(min(size, chunk))

        read = read1

    captures = open_captures(["-"], stdin=Pieces())  # type: ignore[arg-type]
    packets = [packet for batch in captures.batches() for packet in batch]
    (file,) = captures.files
    parser = file._parser
    size = parser._offset + parser._have if parser else 0
    outcome = (file.packets, file.anomalies, str(file.error), file.compression)
    demand(bool(packets or file.anomalies or file.error) or not data or not file.packets, "something is said")
    return packets, outcome, size


def packed_as(data: bytes) -> str:
    """Return the name of the compression."""
    return str(detect_compression(data[:4]))


def _multi_gzip(content: bytes) -> bytes:
    return b"".join(gzip.compress(content[at : at + 64], mtime=0) for at in range(0, len(content), 64))


_PACKERS = (
    lambda content: gzip.compress(content, mtime=0),
    zstandard.compress,
    lz4.frame.compress,
    _multi_gzip,
)
