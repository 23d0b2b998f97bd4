"""A pcapng file of packets with any link type, with comments: complete, or not there at all."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, NamedTuple

from kdissect.capture.formats.capture_writer import BEFORE_1970, PcapngWriter
from kdissect.capture.whole_file import WholeFile
from kdissect.model.native import is_compiled
from kdissect.model.packets.commented import plain_link, without_comments
from kdissect.model.packets.packet import MergedBlock, Packet, PacketBlock, PlainPacket
from kdissect.model.version import __version__

APPLICATION = "kdissect"
_STDOUT = 1

Spans = Sequence[tuple[int, int]]
"""First and last time of each, in nanoseconds since 1970."""


class Written(NamedTuple):
    """How many packets were written, their bytes, and the first and last time; 0 without packets."""

    packets: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def and_then(self, more: "Written") -> "Written":
        """Return both together."""
        if not (self.packets and more.packets):
            return self if self.packets else more
        first_ns, last_ns = min(self.first_ns, more.first_ns), max(self.last_ns, more.last_ns)
        return Written(self.packets + more.packets, self.bytes + more.bytes, first_ns, last_ns)


class PacketFile:
    """Writer of packets with nanoseconds. It adds an interface for each link type when its first packet
    comes, and another for times before 1970, which timestamps reach only from an earlier beginning.

    Used with `with`: the file is moved to its place at the end, an error leaves the former file. `-` is
    standard output. Raises OSError. `comment` is about the file.
    """

    def __init__(self, path: str, comment: str = "") -> None:
        self._file = _StandardOutput() if path == "-" else WholeFile(path)
        self._comment = comment
        self._interfaces: dict[tuple[int, str, int], int] = {}
        self._writer: PcapngWriter | None = None
        self._stream: BinaryIO | None = None

    def __enter__(self) -> "PacketFile":
        self._stream = stream = self._file.__enter__()
        self._writer = PcapngWriter(stream, comment=self._comment, application=f"{APPLICATION} {__version__}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer = self._stream = None
        self._file.__exit__(kind, error, trace)

    def secrets(self, kind: int, data: bytes) -> None:
        """Write secrets (`capture.key_logs`), before the packets that need them."""
        assert self._writer is not None, "used without with"
        self._writer.secrets(kind, data)

    def write(self, packet: Packet, comment: str = "", interface: str = "") -> None:
        """Write a packet unchanged, with its comments and a further one. `interface` names its capture point,
        one for each link type.
        """
        offset = BEFORE_1970 if packet.time_ns < 0 else 0
        number = self.interface(plain_link(packet.link_type), interface, offset)
        assert self._writer is not None, "used without with"
        self._writer.write_packet(packet, interface=number, comment=comment)

    def write_within(self, batch: Sequence[PlainPacket], spans: Spans) -> Written:
        """Write the packets of some times unchanged, with their comments."""
        if is_compiled and isinstance(batch, PacketBlock | MergedBlock):
            found = batch.runs().blocks(spans, self.interface)
            if found is not None:
                self.write_blocks(found[0])
                return Written(*found[1:])
        written = Written()
        for packet in map(Packet._make, batch):
            if any(begin <= packet.time_ns <= end for begin, end in spans):
                self.write(packet)
                size = len(without_comments(packet.link_type, packet.data)[1])
                written = written.and_then(Written(1, size, packet.time_ns, packet.time_ns))
        return written

    def interface(self, link_type: int, name: str = "", offset: int = 0) -> int:
        """Return the number of an interface, which is written if it is new."""
        assert self._writer is not None, "used without with"
        key = link_type, name, offset
        number = self._interfaces.get(key)
        if number is None:
            number = self._interfaces[key] = self._writer.interface(link_type, offset=offset, name=name)
        return number

    def write_blocks(self, blocks: bytes) -> None:
        """Write packets that are blocks of a little-endian section already, of interfaces that are there."""
        assert self._stream is not None, "used without with"
        self._stream.write(blocks)


class _StandardOutput:
    """Standard output in place of a file. Not Python's own stream, which would write failed data once more at
    exit.
    """

    def __enter__(self) -> BinaryIO:
        if sys.stdout is not None:
            sys.stdout.flush()  # what was printed the usual way comes first
        self._stream = os.fdopen(os.dup(_STDOUT), "wb")
        return self._stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._stream.close()
            return
        with suppress(OSError):  # it was reported already
            self._stream.close()
