"""Packets without their content: the headers go to the disk, whole packets to the analysis in memory."""

import struct
import time
from collections.abc import Callable

from kdissect.capture.formats.pcapng import ENHANCED_PACKET, INTERFACE, SECTION
from kdissect.capture.live.blocks import Blocks, statistics_block
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.ring import FileRing
from kdissect.capture.live.tapes import MAX_SPOOL, GrowingFile, Spool
from kdissect.net.headers.header_length import header_length

_HEAD = struct.Struct("<II").unpack_from
_LINK_TYPE = struct.Struct("<H").unpack_from
_PACKET = struct.Struct(
    "<IIIIIII"
)  # type, length, interface, time, captured and original length: section 4.3
_LENGTH = struct.Struct("<I").pack
_FRAME = _PACKET.size + 4
_OPTION = struct.Struct("<HH").unpack_from  # code, length: section 3.5
_OPTIONS_AT = {SECTION: 24, INTERFACE: 16}
_COMMENT, _LAST_CODE = 1, 15  # later codes are custom options, or unknown


class HeadersOnly:
    """Cuts packets in little-endian blocks after their headers.

    Options of packets and comments are removed, since they may have content, and so is every other kind of
    block, as secrets.
    """

    def __init__(self) -> None:
        self._link_types: list[int] = []

    def cut(self, data: bytes) -> bytes:
        """Return the section, interfaces and cut packets of some blocks."""
        parts, position = [], 0
        while position + 12 <= len(data):
            kind, total = _HEAD(data, position)
            end = position + total
            if kind == ENHANCED_PACKET:
                parts.append(self._packet(data, position, end))
            elif kind == SECTION:
                self._link_types = []
                parts.append(_without_comments(kind, data[position:end]))
            elif kind == INTERFACE:
                self._link_types += _LINK_TYPE(data, position + 8)
                parts.append(_without_comments(kind, data[position:end]))
            position = end
        return b"".join(parts)

    def _packet(self, data: bytes, position: int, end: int) -> bytes:
        kind, _, interface, high, low, captured, original = _PACKET.unpack_from(data, position)
        start = position + _PACKET.size
        content = data[start : min(start + captured, end - 4)]
        known = interface < len(self._link_types)
        kept = content[: header_length(self._link_types[interface], content)] if known else b""
        total = _FRAME + len(kept) + (-len(kept) & 3)
        head = _PACKET.pack(kind, total, interface, high, low, len(kept), original)
        return head + kept + bytes(-len(kept) & 3) + _LENGTH(total)


def _without_comments(kind: int, block: bytes) -> bytes:
    """Return a section or an interface with the options that the format defines, except comments."""
    start, last = _OPTIONS_AT[kind], len(block) - 4
    parts, at = [block[8:start]], start
    while at + 4 <= last:
        code, length = _OPTION(block, at)
        end = at + 4 + length + (-length & 3)
        if _COMMENT < code <= _LAST_CODE and end <= last:
            parts.append(block[at:end])
        at = end
    if len(parts) > 1:
        parts.append(bytes(4))  # the end of options
    total = _LENGTH(12 + sum(map(len, parts)))
    return block[:4] + total + b"".join(parts) + total


class HeadersSink:
    """Writes headers to a ring, and whole packets to a spool in memory for each file of the ring.

    If the analysis lags by more than a limit, packets pass it by, and it counts them as lost.
    """

    def __init__(self, ring: FileRing, name: str, lag: Lag, opened: Callable[[Spool], None]) -> None:
        self.paths = ring.paths
        self._ring = ring
        self._name = name
        self._lag = lag
        self._opened = opened
        self._headers = HeadersOnly()
        self._spool: Spool | None = None
        self._is_next = True
        self._missed = 0
        self._drops: dict[int, int] = {}  # reported in earlier spools

    def begin_file(self, _file: GrowingFile) -> None:
        """Begin another spool with the next packets."""
        self._is_next = True

    def write(self, blocks: Blocks, preamble: bytes, drops: dict[int, int]) -> None:
        """Take blocks. Raises OSError."""
        cut = self._headers.cut(blocks.data)
        if cut:
            self._ring.write(Blocks(cut, blocks.packets), HeadersOnly().cut(preamble), drops)
        if not blocks.packets:
            if self._spool is not None and not self._is_next:
                self._spool.put(blocks.data)
            return
        spool = self._spool
        if self._is_next or spool is None:
            self._is_next = False
            spool = self._begin(preamble, drops)
        if self._lag.written - self._lag.analysed < MAX_SPOOL:
            spool.put(blocks.data)
        else:
            self._missed += blocks.packets

    def close(self, drops: dict[int, int]) -> None:
        """End the output. Raises OSError."""
        self._end(drops)
        self._ring.close(drops)

    def _end(self, drops: dict[int, int]) -> None:
        """End the spool with the losses since the one before."""
        if self._spool is None:
            return
        since = {interface: count - self._drops.get(interface, 0) for interface, count in drops.items()}
        since[0] = since.get(0, 0) + self._missed
        self._drops, self._missed = dict(drops), 0
        for interface, count in since.items():
            if count > 0:
                self._spool.put(statistics_block(interface, count, time.time_ns()))
        self._spool.close()

    def _begin(self, preamble: bytes, drops: dict[int, int]) -> Spool:
        self._end(drops)
        self._spool = spool = Spool(self._name, self._lag)
        self._opened(spool)
        spool.put(preamble)
        return spool
