"""The codecs by their number in a batch's attributes, and what all of them promise.

A decoder imports its library when it is first needed: a capture of gzip pays for no zstandard.
"""

from collections.abc import Callable

from kdissect.model.errors import DecodeError, OutputLimitError
from kdissect.model.limits import in_force
from kdissect.model.record_batch import CODEC_NAMES, Codec
from kdissect.model.run_budget import note_met, run_budget

# A batch that grows to more than this may have grown by `Limits.batch_ratio`, and no more.
FREE_OUTPUT = 16 << 20

Decompress = Callable[[memoryview, int, bool], bytes]
"""`(data, limit, is_legacy_lz4) -> bytes`, raising DecodeError with the codec's name for its path."""


def decompress(
    codec: int,
    data: bytes | memoryview,
    limit: int | None = None,
    *,
    magic: int = 2,
    captured: int | None = None,
) -> bytes:
    """`data` decompressed, at most `limit` bytes (None: `Limits.batch_bytes` of the process), what
    `Limits.batch_ratio` allows, and what is left of the run's (`model.run_budget`); `magic` is that of the
    batch it stands in, `captured` how many bytes of the capture it is, unless all.

    Raises OutputLimitError where there would be more, and DecodeError for codecs that do not exist (5 to 7)
    and bytes that are not what the codec writes. Whatever the bytes, it takes about `limit` of memory.
    """
    run = _decompressor(codec)
    size = len(data) if captured is None else captured
    budget = run_budget()
    most, left = _most(len(data), limit), budget.bytes_of(size)
    output = min(most, left)  # what is refused took that at most to find out
    try:
        content = run(memoryview(data), output, magic == 0)
        output = len(content)
    except OutputLimitError as error:
        if most <= left:
            raise
        note_met("run_bytes")
        why = "this and what was decompressed before grow beyond run_bytes"
        raise OutputLimitError(error.path, error.offset, why) from None
    finally:
        budget.spend_bytes(size, output)
    return content


def decompress_usual(codec: int, data: bytes | memoryview) -> bytes:
    """`data` decompressed, where it grows no more than is usual (`model.run_budget`): nothing is counted.

    Raises OutputLimitError for all else, and DecodeError as `decompress` does.
    """
    return decompress_within(codec, data, min(_most(len(data), None), in_force().run_ratio * len(data)))


def decompress_within(codec: int, data: bytes | memoryview, most: int) -> bytes:
    """`data` decompressed to at most so many bytes; nothing is counted. Raises as `decompress_usual`."""
    return _decompressor(codec)(memoryview(data), most, False)


def usual_growth() -> tuple[int, int]:
    """Return what a byte decompresses to at most where it is usual, and how many records."""
    limits = in_force()
    return limits.run_ratio, limits.run_record_ratio


def _most(size: int, limit: int | None) -> int:
    """Return what a batch of so many compressed bytes may become, whatever else the run has."""
    most, free, ratio = growth()
    return min(most if limit is None else limit, max(free, ratio * size))


def growth() -> tuple[int, int, int]:
    """Return what a batch may grow to at most, in any case, and how many times its size, by the process's
    limits.
    """
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
    from kdissect.decoders.compression.gzip import decompress_gzip  # at first use: start-up

    return lambda data, limit, _legacy: decompress_gzip(data, limit)


def _snappy() -> Decompress:
    from kdissect.decoders.compression.snappy import decompress_snappy  # at first use: start-up

    return lambda data, limit, _legacy: decompress_snappy(data, limit)


def _lz4() -> Decompress:
    from kdissect.decoders.compression.lz4 import decompress_lz4  # at first use: start-up

    return decompress_lz4


def _zstd() -> Decompress:
    from kdissect.decoders.compression.zstd import decompress_zstd  # at first use: start-up

    return lambda data, limit, _legacy: decompress_zstd(data, limit)


_LOADERS: dict[int, Callable[[], Decompress]] = {
    Codec.NONE: _plain, Codec.GZIP: _gzip, Codec.SNAPPY: _snappy, Codec.LZ4: _lz4, Codec.ZSTD: _zstd,
}  # fmt: skip
_loaded: dict[int, Decompress] = {}
