"""Compression codecs of record batches, each with fixed settings: the same bytes in every run."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from .snappy import compress_xerial

CODEC_BITS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
"""Attributes bits 0-2 of a batch (Kafka documentation, "Record Batch")."""
EXPECTED_RATIO = {"none": 1.0, "gzip": 4.3, "snappy": 2.6, "lz4": 2.8, "zstd": 4.7}
"""What the JSON values of `batches.py` shrink by: used to aim at a size on the wire."""
PLAIN_LIMIT = 125_000
"""Records of a batch before compression; Wireshark 4.0 garbles zstd over 128 KiB."""
ZSTD_SINCE = {"produce": 7, "fetch": 10}
"""KIP-110: zstd is allowed from Produce v7 and Fetch v10."""


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=6, mtime=0)


def _lz4(data: bytes) -> bytes:
    import lz4.frame  # type: ignore[import-untyped, unused-ignore]

    # Independent blocks of 64 KiB, as Kafka's Lz4BlockOutputStream writes them.
    size = lz4.frame.BLOCKSIZE_MAX64KB
    return bytes(lz4.frame.compress(data, block_size=size, block_linked=False, store_size=False))


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(data)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda data: data,
    "gzip": _gzip,
    "snappy": compress_xerial,
    "lz4": _lz4,
    "zstd": _zstd,
}


def codec_of(wanted: str, turn: int, direction: str, version: int) -> str:
    """Return the codec of the `turn`-th program: `wanted`, or each in turn; lz4 where zstd is not allowed."""
    name = list(CODEC_BITS)[turn % len(CODEC_BITS)] if wanted == "mixed" else wanted
    return "lz4" if name == "zstd" and version < ZSTD_SINCE[direction] else name
