"""Compressed captures: gzip, zstd and lz4 known by magic, decompressed as a stream in bounded pieces.

Sources: RFC 1952 (gzip), RFC 8878 (zstd), LZ4 Frame Format Description 1.6.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Protocol

# Decompressed bytes per step, so that a decompression bomb costs time but not memory. See source.CHUNK for
# the size.
OUTPUT_CHUNK = 1 << 17
# Bytes given to a frame that is not the first of a chunk: each copies what it leaves over, and a chunk may
# hold ten thousand frames.
SMALL = 1 << 9


class Compression(StrEnum):
    """Compression of a whole capture file."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"
    LZ4 = "lz4"


class CutStreamError(Exception):
    """The compressed data end too early. Everything decompressed before was delivered."""


class CorruptStreamError(Exception):
    """The compressed data make no sense from here on. Everything decompressed before was delivered."""


class Decompressor(Protocol):
    """Common interface of zlib, lz4.frame and our zstd walk: one frame (gzip member) at a time."""

    @property
    def eof(self) -> bool:
        """Whether the frame is complete."""

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the frame."""

    def step(self, data: bytes) -> bytes:
        """Take `data` and give at most OUTPUT_CHUNK bytes of output.

        No output: the frame is at its end or needs input. Output that did not fit comes with `step(b"")`.
        """


def detect_compression(head: bytes) -> Compression:
    """Return the compression whose magic the first bytes (4 are enough) are."""
    if head[:3] == b"\x1f\x8b\x08":  # RFC 1952 section 2.3.1: ID1, ID2, CM deflate
        return Compression.GZIP
    if head[:4] == b"\x28\xb5\x2f\xfd":  # RFC 8878 section 3.1.1: Magic_Number
        return Compression.ZSTD
    if head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50:
        # A skippable frame, RFC 8878 section 3.1.2; pzstd begins its files with one, lz4 tools do not.
        return Compression.ZSTD
    if head[:4] == b"\x04\x22\x4d\x18":  # LZ4 frame format, "Magic Number"
        return Compression.LZ4
    return Compression.NONE


def decompress(chunks: Iterator[bytes], compression: Compression) -> Iterator[bytes]:
    """Yield the decompressed bytes of a frame stream, never an empty chunk.

    Raises CutStreamError or CorruptStreamError after the last good byte, and the exceptions of `chunks`.
    """
    if compression is Compression.NONE:
        yield from chunks
        return
    frame = _decompressor(compression)
    fresh = True  # no byte of this frame was seen: the stream may end here
    for data in chunks:
        at, size = 0, len(data)
        while at < len(data):
            piece = data[at : at + size]
            if fresh:
                at += len(piece)
                piece = piece.lstrip(b"\0")  # padding, as tape and block devices leave it
                at -= len(piece)
            fresh = fresh and not piece
            yield from _drain(frame, piece, compression)
            at += len(piece)
            if frame.eof:
                at -= len(frame.unused_data)
                frame, fresh, size = _decompressor(compression, frame), True, SMALL
    if not fresh:
        raise CutStreamError(f"the {compression} data end early")


def _drain(frame: Decompressor, data: bytes, compression: Compression) -> Iterator[bytes]:
    """Yield all output for `data`, up to the end of the frame."""
    while True:
        try:
            output = frame.step(data)
        except Exception as error:  # zlib.error, ZstdError, RuntimeError: each library has its own
            raise CorruptStreamError(f"corrupt {compression} data: {error}") from error
        data = b""
        if not output:
            return
        yield output


def _decompressor(compression: Compression, before: Decompressor | None = None) -> Decompressor:
    """Return the decompressor for one frame. `before` is the decompressor of the frame before it."""
    if compression is Compression.GZIP:
        return _Gzip()
    if compression is Compression.LZ4:
        return _Lz4()
    from kdissect.capture.zstd_frames import ZstdFrame  # at first use: start-up

    return ZstdFrame(before.library if isinstance(before, ZstdFrame) else None)


class _Gzip:
    """One gzip member."""

    __slots__ = ("_broken", "_inner")

    def __init__(self) -> None:
        import zlib  # at first use: start-up

        self._inner = zlib.decompressobj(31)  # 16 + 15: a gzip header and the largest window
        self._broken: Exception | None = None  # what the next step raises

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def step(self, data: bytes) -> bytes:
        if self._broken is not None:
            raise self._broken
        data = self._inner.unconsumed_tail + data
        before = self._inner.copy()  # 64 KiB of state: a percent of what a step takes
        try:
            return self._inner.decompress(data, OUTPUT_CHUNK)
        except Exception as error:  # zlib.error, which forgets what the step gave until then
            self._broken = error
            output = self._salvage(before, data)
            if not output:
                raise
            return output

    def _salvage(self, inner: Any, data: bytes) -> bytes:
        """Return the output before the first byte of `data` that makes no sense, found in ever smaller
        pieces.
        """
        output = b""
        size, at = len(data) // 2, 0
        while size and at < len(data) and len(output) < OUTPUT_CHUNK:
            tried = inner.copy()
            try:
                output += tried.decompress(data[at : at + size], OUTPUT_CHUNK)
            except Exception:
                size //= 2
                continue
            inner = tried
            at += size
        return output


class _Lz4:
    """One lz4 frame."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        import lz4.frame  # at first use: start-up

        self._inner = lz4.frame.LZ4FrameDecompressor()

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data or b""

    def step(self, data: bytes) -> bytes:
        if self._inner.eof or (self._inner.needs_input and not data):
            return b""
        output: bytes = self._inner.decompress(data, OUTPUT_CHUNK)
        return output
