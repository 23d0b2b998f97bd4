"""One zstd frame, decompressed block by block.

The zstandard package offers either an end-of-frame mark (`decompressobj`) or a bound on the output
(`stream_reader`), but a capture needs both: a cut file must be known as cut, and 4 bytes of input can expand
to 128 KiB of output. A block has at most 128 KiB, so handing over one block at a time bounds the output, and
frames are simple to walk.

Source: RFC 8878, section 3.1 "Frames".
"""

from typing import TYPE_CHECKING

import zstandard

from kdissect.model.wording import plural

if TYPE_CHECKING:
    import zstandard

MAX_BLOCK = 1 << 17  # section 3.1.1.2.4 Block_Maximum_Size: 128 KiB
# Memory a frame may ask for. The zstd tool refuses larger windows too by default (--long=27 is its limit).
MAX_WINDOW = 1 << 27

_MAGIC_BYTES = 4
_BLOCK_HEADER = 3  # section 3.1.1.2
_CHECKSUM = 4  # section 3.1.1 Content_Checksum
_SKIPPABLE_HEADER = 8  # section 3.1.2
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # section 3.1.2: 0x184D2A5?, after its lowest byte
_RLE_BLOCK = 1  # section 3.1.1.2.2: one byte, repeated
_RESERVED_BLOCK = 3  # section 3.1.1.2.2


class ZstdFrame:
    """A `Decompressor` of one zstd frame or skippable frame; `library` is that of the frame before, if
    any."""

    __slots__ = ("_blocks_left", "_buffer", "_checksum", "_inner", "_skip", "_started", "eof", "library")

    def __init__(self, library: "zstandard.ZstdDecompressor | None" = None) -> None:
        if library is None:
            # One for each stream: shared ones corrupt when used from two places at once. One for each frame
            # takes 25 us, and a frame may have 9 bytes.
            library = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
        self.library = library
        self._inner: zstandard.ZstdDecompressionObj | None = None  # None until the header was seen
        self._buffer = bytearray()
        self._started = False
        self._blocks_left = True
        self._checksum = False
        self._skip = 0  # bytes of a skippable frame still to come
        self.eof = False

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the frame."""
        return bytes(self._buffer)

    def step(self, data: bytes) -> bytes:
        """See `Decompressor.step`. Raises ValueError or zstandard.ZstdError on corrupt data."""
        self._buffer += data
        while not self.eof:
            size = self._piece()
            if not size or size > len(self._buffer):
                return b""
            piece = bytes(self._buffer[:size])
            del self._buffer[:size]
            output = self._take(piece)
            if output:
                return output
        return b""

    def _piece(self) -> int:
        """Return the bytes of the next piece: header, block, checksum, skippable part. 0: more bytes are
        needed.
        """
        if self._skip:
            return min(self._skip, len(self._buffer))
        if not self._started:
            return self._header_size()
        if not self._blocks_left:
            return _CHECKSUM
        return self._block_size()

    def _take(self, piece: bytes) -> bytes:
        """Account for a whole piece and give its output."""
        if self._skip:
            self._skip -= len(piece)
            self.eof = not self._skip
            return b""
        if not self._started:
            return self._begin(piece)
        if self._blocks_left:
            self._blocks_left = not piece[0] & 1  # section 3.1.1.2.1 Last_Block
            self.eof = not self._blocks_left and not self._checksum
        else:
            self.eof = True
        assert self._inner is not None
        return self._inner.decompress(piece)

    def _begin(self, header: bytes) -> bytes:
        self._started = True
        if header[1:4] == _SKIPPABLE_MAGIC:
            self._skip = int.from_bytes(header[4:8], "little")
            self.eof = not self._skip
            return b""
        self._checksum = bool(header[4] & 4)  # section 3.1.1.1.1.5 Content_Checksum_flag
        self._inner = self.library.decompressobj()
        return self._inner.decompress(header)

    def _header_size(self) -> int:
        """Magic number and frame header, section 3.1.1.1, or the header of a skippable frame."""
        if len(self._buffer) <= _MAGIC_BYTES:
            return 0
        if self._buffer[1:4] == _SKIPPABLE_MAGIC:
            return _SKIPPABLE_HEADER
        descriptor = self._buffer[4]
        single_segment = descriptor >> 5 & 1
        content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
        return _MAGIC_BYTES + 1 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size

    def _block_size(self) -> int:
        """Return the header and content of a block, section 3.1.1.2."""
        if len(self._buffer) < _BLOCK_HEADER:
            return 0
        header = int.from_bytes(self._buffer[:_BLOCK_HEADER], "little")
        kind, size = header >> 1 & 3, header >> 3
        if kind == _RESERVED_BLOCK or size > MAX_BLOCK:
            raise ValueError(f"a block of type {kind} and {plural(size, 'byte')}")
        return _BLOCK_HEADER + (1 if kind == _RLE_BLOCK else size)
