"""A capture filter over an unfiltered stream: the stream of a tapped JVM."""

import time
from collections.abc import Callable
from struct import Struct

from kdissect.capture.formats.pcapng import ENHANCED_PACKET
from kdissect.capture.live.bindings import PacketFilter
from kdissect.capture.live.blocks import BlockCutter, Blocks, statistics_block
from kdissect.capture.live.recorder import ByteSource
from kdissect.model.packets.link_types import LinkType

_HEAD = Struct("<II").unpack_from
_LENGTHS = Struct("<II").unpack_from  # captured, original: section 4.3
_LENGTHS_AT, _DATA_AT = 20, 28


def narrowing(expression: str) -> Callable[[ByteSource], ByteSource]:
    """Return a function that limits a source to the packets that the filter takes: to all if it is empty.

    Raises BadFilterError, MissingError.
    """
    if not expression:
        return lambda source: source
    takes = PacketFilter(expression, LinkType.RAW)
    return lambda source: FilteredSource(source, takes)


class FilteredSource:
    """The packets of little-endian pcapng with link type RAW that a filter takes."""

    def __init__(self, source: ByteSource, takes: PacketFilter) -> None:
        self.name = source.name
        self._source = source
        self._takes = takes
        self._cutter = BlockCutter("")
        self._is_over = False

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end, after the drops. Raises
        OSError.
        """
        while not self._is_over and (data := self._source.read()):
            kept = b"".join(map(self._kept, self._cutter.feed(data)))
            if self._cutter.error is not None:
                raise OSError(f"{self.name}: {self._cutter.error}")
            if kept:
                return kept
        if self._is_over:
            return b""
        self._is_over = True  # a source that has ended is not read again
        drops = self._cutter.drops.items()
        return b"".join(statistics_block(interface, count, time.time_ns()) for interface, count in drops)

    def stop(self) -> None:
        """Ask the source to end."""
        self._source.stop()

    def failure(self) -> str:
        """Return the reason why the source ended."""
        return self._source.failure()

    def drops(self) -> int:
        """Return the losses that the source reports."""
        return self._source.drops()

    def _kept(self, blocks: Blocks) -> bytes:
        data, position, parts = blocks.data, 0, []
        while blocks.packets and position < len(data):
            kind, total = _HEAD(data, position)
            start = position + _DATA_AT
            if kind != ENHANCED_PACKET or self._takes(
                data[start : start + _LENGTHS(data, position + _LENGTHS_AT)[0]]
            ):
                parts.append(data[position : position + total])
            position += total
        return b"".join(parts) if blocks.packets else data
