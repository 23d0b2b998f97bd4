"""The codecs by their number in a batch's attributes, and what all of them promise.

A decoder imports its library when it is first needed: a capture of gzip pays for no zstandard.
"""

from collections.abc import Callable

from kdissect.model.errors import DecodeError
from kdissect.model.limits import in_force
from kdissect.model.record_batch import CODEC_NAMES, Codec

# A batch that grows to more than this may have grown by `Limits.batch_ratio`, and no more.
FREE_OUTPUT = 16 << 20

Decompress = Callable[[memoryview, int, bool], bytes]
"""`(data, limit, is_legacy_lz4) -> bytes`, raising DecodeError with the codec's name for its path."""


def decompress(codec: int, data: bytes | memoryview, limit: int | None = None, *, magic: int = 2) -> bytes:
    """`data` decompressed, at most `limit` bytes (None: `Limits.batch_bytes` of the process) and what
    `Limits.batch_ratio` allows; `magic` is that of the batch it stands in.

    Raises OutputLimitError where there would be more, and DecodeError for codecs that do not exist (5 to 7)
    and bytes that are not what the codec writes. Whatever the bytes, it takes about `limit` of memory.
    """
    run = _decompressor(codec)
    most, free, ratio = growth()
    most = most if limit is None else limit
    return run(memoryview(data), min(most, max(free, ratio * len(data))), magic == 0)


def growth() -> tuple[int, int, int]:
    """What a batch may grow to at most, in any case, and how many times its size, by the process's limits."""
    limits = in_force()
    return limits.batch_bytes, FREE_OUTPUT, limits.batch_ratio


def _decompressor(codec: int) -> Decompress:
    known = _loaded.get(codec)
    if known is None:
        if codec not in _LOADERS:
            raise DecodeError(codec_name(codec), 0, f"there is no codec {codec}")
        known = _loaded[codec] = _LOADERS[codec]()
    return known


def codec_name(codec: int) -> str:
    """`gzip`; `codec 5` for one that does not exist."""
    return CODEC_NAMES[codec] if 0 <= codec < len(CODEC_NAMES) else f"codec {codec}"


def _plain() -> Decompress:
    return lambda data, _limit, _legacy: bytes(data)


def _gzip() -> Decompress:
    from kdissect.decoders.compression.gzip import decompress_gzip

    return lambda data, limit, _legacy: decompress_gzip(data, limit)


def _snappy() -> Decompress:
    from kdissect.decoders.compression.snappy import decompress_snappy

    return lambda data, limit, _legacy: decompress_snappy(data, limit)


def _lz4() -> Decompress:
    from kdissect.decoders.compression.lz4 import decompress_lz4

    return decompress_lz4


def _zstd() -> Decompress:
    from kdissect.decoders.compression.zstd import decompress_zstd

    return lambda data, limit, _legacy: decompress_zstd(data, limit)


_LOADERS: dict[int, Callable[[], Decompress]] = {
    Codec.NONE: _plain, Codec.GZIP: _gzip, Codec.SNAPPY: _snappy, Codec.LZ4: _lz4, Codec.ZSTD: _zstd,
}  # fmt: skip
_loaded: dict[int, Decompress] = {}
