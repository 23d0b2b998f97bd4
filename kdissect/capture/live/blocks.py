"""A stream of capture bytes, cut into whole pcapng blocks.

A file that is rotated, or that must be sound when the disk is full, is written by whole blocks. Each file
begins with the section and interfaces that its packets refer to. pcapng in the byte order of nearly every
machine passes unchanged. Classic pcap, and pcapng of the other order, are converted.
"""

from io import BytesIO
from struct import Struct
from typing import NamedTuple, Protocol

from kdissect.capture.formats.capture_parser import PCAPNG_MAGIC, CaptureParser
from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.formats.file_format import MAGIC_BYTES, describe_other, parser_for
from kdissect.capture.formats.pcapng import (
    ENHANCED_PACKET,
    INTERFACE,
    MAX_BLOCK,
    MAX_SECRET_BYTES,
    SECRETS,
    SECTION,
    STATISTICS,
    parse_drops,
)
from kdissect.model.packets.commented import plain_link
from kdissect.model.packets.packet import Packet, PlainPacket

_LITTLE = b"\x4d\x3c\x2b\x1a"  # the byte-order magic as little-endian machines write it, section 4.1
_HEAD = Struct("<II").unpack_from
_NUMBER = Struct("<I")
_SECTION_HEAD = 12  # type, length, byte-order magic
_COMMENT = 1  # opt_comment, section 3.5.1


class Blocks(NamedTuple):
    """Whole blocks: `data`, and how many of them are packets."""

    data: bytes
    packets: int


class Cutter(Protocol):
    """Bytes in, whole blocks out."""

    preamble: bytes
    """The section and the interfaces so far: what a file begins with whose packets come from now on."""
    drops: dict[int, int]
    """Packets lost since the start, by interface of the section."""
    drops_before: int
    """Packets lost by interfaces of earlier sections."""
    error: str | None
    """The reason why the stream cannot be read on."""

    def feed(self, data: bytes) -> list[Blocks]:
        """Return the blocks that are complete by now."""


class BlockCutter:
    """pcapng of little-endian machines. Statistics are read and left out: the writer adds its own."""

    def __init__(self, comment: str) -> None:
        self._comment = comment
        self._rest = b""
        self.preamble = b""
        self.drops: dict[int, int] = {}
        self.drops_before = 0
        self.error: str | None = None

    def feed(self, data: bytes) -> list[Blocks]:
        """Return the blocks that are complete by now, in pieces that hold packets or begin a section."""
        if self.error is not None:
            return []
        data = self._rest + data if self._rest else data
        pieces: list[Blocks] = []
        position = start = packets = 0
        size = len(data)
        while position + 12 <= size:
            kind, total = _HEAD(data, position)
            if total < 12 or total & 3 or total > MAX_BLOCK:
                self.error = f"implausible length {total} of a block"
                break
            end = position + total
            if end > size:
                break
            if kind == ENHANCED_PACKET:
                packets += 1
            elif kind in (SECTION, INTERFACE, STATISTICS, SECRETS):
                if start < position:
                    pieces.append(Blocks(data[start:position], packets))
                packets, start = 0, end
                self._note(kind, data[position:end], pieces)
            position = end
        if start < position:
            pieces.append(Blocks(data[start:position], packets))
        self._rest = data[position:]
        return pieces

    def _note(self, kind: int, block: bytes, pieces: list[Blocks]) -> None:
        """Note a section, an interface, secrets, or statistics."""
        if kind == STATISTICS:
            (interface,) = _NUMBER.unpack_from(block, 8)
            self.drops[interface] = parse_drops(block[8:-4], "<")
            return
        if kind == SECTION:
            if block[8:_SECTION_HEAD] != _LITTLE:
                self.error = "sections of different byte orders"
                return
            block = _with_comment(block, self._comment)
            self.preamble = b""
            self.drops_before += sum(self.drops.values())
            self.drops.clear()
        if kind != SECRETS or len(self.preamble) < MAX_SECRET_BYTES:  # the most that a reader takes
            self.preamble += block
        pieces.append(Blocks(block, 0))


class Converter:
    """Converter of a parser's packets to pcapng with an interface for each link type."""

    def __init__(self, parser: CaptureParser, comment: str) -> None:
        self._parser = parser
        self._out = BytesIO()
        self._writer = PcapngWriter(self._out, comment=comment, application="kdissect")
        self._interfaces: dict[int, int] = {}
        self.preamble = self._out.getvalue()
        self._begun = False
        self.drops: dict[int, int] = {}
        self.drops_before = 0
        self.error: str | None = None

    def feed(self, data: bytes) -> list[Blocks]:
        """Return the packets that are complete by now, as blocks."""
        packets = self._parser.feed(data)
        if self._parser.stopped:
            self.error = self._parser.error or "the stream is damaged"
        pieces = [] if self._begun else [Blocks(self.preamble, 0)]
        self._begun = True
        if self._parser.drops:
            self.drops[0] = self._parser.drops
        new = sorted(self._parser.link_types - self._interfaces.keys())
        pieces += [Blocks(self._add_interface(link_type), 0) for link_type in new]
        if packets:
            pieces.append(Blocks(self._packets(packets), len(packets)))
        return pieces

    def _add_interface(self, link_type: int) -> bytes:
        self._empty()
        self._interfaces[link_type] = self._writer.interface(link_type)
        block = self._out.getvalue()
        self.preamble += block
        return block

    def _packets(self, packets: list[PlainPacket]) -> bytes:
        self._empty()
        for packet in map(Packet._make, packets):
            interface = self._interfaces[plain_link(packet.link_type)]
            self._writer.write_packet(packet, interface=interface)
        return self._out.getvalue()

    def _empty(self) -> None:
        self._out.seek(0)
        self._out.truncate()


class Text:
    """The lines of a request log, which the analysis reads as they are."""

    def __init__(self) -> None:
        self.preamble = b""
        self.drops: dict[int, int] = {}
        self.drops_before = 0
        self.error: str | None = None

    def feed(self, data: bytes) -> list[Blocks]:
        """Return the bytes."""
        return [Blocks(data, 0)]


def cutter_for(head: bytes, comment: str) -> Cutter | str:
    """Return the cutter for a stream that begins with `head` (`is_enough`), or its error."""
    if head[:MAGIC_BYTES] == PCAPNG_MAGIC and head[8:_SECTION_HEAD] == _LITTLE:
        return BlockCutter(comment)
    kind = parser_for(head)
    if kind is None:
        return describe_other(head)
    return Converter(kind(), comment) if kind.is_packet_capture else Text()


def _with_comment(block: bytes, comment: str) -> bytes:
    """Return a section header block with one more comment in front of its options."""
    if not comment:
        return block
    text = comment.encode("utf-8", "replace")[:0xFFF0]
    option = Struct("<HH").pack(_COMMENT, len(text)) + text + bytes(-len(text) & 3)
    options = block[24:-4] or bytes(4)  # none at all: then the end of options has to be added
    body = block[8:24] + option + options
    length = _NUMBER.pack(len(body) + 12)
    return block[:4] + length + body + length


def statistics_block(interface: int, drops: int, time_ns: int) -> bytes:
    """Return interface statistics, as a block of a little-endian section.

    The clock of the interface is not looked up: nanoseconds, which dumpcap and ours have.
    """
    out = BytesIO()
    writer = PcapngWriter(out)
    for _ in range(interface + 1):
        writer.interface()
    out.seek(0)
    out.truncate()
    writer.statistics(interface, drops, time_ns=time_ns)
    return out.getvalue()
