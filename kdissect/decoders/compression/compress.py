"""Bytes compressed again, in the form in which they were found."""

import gzip
from collections.abc import Callable

import cramjam
import lz4.frame
import zstandard

from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.compression.snappy import XERIAL_HEADER, XERIAL_MAGIC
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import Codec

# A block of snappy-java: org.xerial.snappy.SnappyOutputStream takes 32 KiB at a time.
_BLOCK = 1 << 15


def compress(codec: int, content: bytes, model: bytes, magic: int) -> bytes | None:
    """`content` in the codec, framed as `model` is; None where that cannot be done.

    The output is decompressed again to check it.
    """
    made = _COMPRESSORS[codec](content, model) if codec in _COMPRESSORS else None
    if made is None:
        return None
    try:
        return made if decompress(codec, made, len(content), magic=magic) == content else None
    except DecodeError:
        return None


def _gzip(content: bytes, _model: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _snappy(content: bytes, model: bytes) -> bytes:
    if not model.startswith(XERIAL_MAGIC):
        return bytes(cramjam.snappy.compress_raw(content))
    parts = [model[:XERIAL_HEADER]]
    for at in range(0, len(content), _BLOCK):
        block = bytes(cramjam.snappy.compress_raw(content[at : at + _BLOCK]))
        parts += [len(block).to_bytes(4), block]
    return b"".join(parts)


def _lz4(content: bytes, _model: bytes) -> bytes:
    made: bytes = lz4.frame.compress(content)
    return made


def _zstd(content: bytes, _model: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


_COMPRESSORS: dict[int, Callable[[bytes, bytes], bytes]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
