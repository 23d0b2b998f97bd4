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
    """Return `data` decompressed: at most `limit` bytes (None: `Limits.batch_bytes` of the process), within
    `Limits.batch_ratio` and the remaining budget of the run (`model.run_budget`). `magic` is the magic of its
    batch, `captured` the number of its bytes in the capture, unless all.

    Raises OutputLimitError where there would be more, and DecodeError for codecs that do not exist (5 to 7)
    and bytes that are not what the codec writes. It uses about `limit` of memory for any bytes.
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
    """Return `data` decompressed if it grows by no more than the usual ratio (`model.run_budget`), without
    counting it.

    Raises OutputLimitError for larger output, and DecodeError as `decompress` does.
    """
    return decompress_within(codec, data, min(_most(len(data), None), in_force().run_ratio * len(data)))


def decompress_within(codec: int, data: bytes | memoryview, most: int) -> bytes:
    """Return `data` decompressed to at most `most` bytes, without counting it. Raises as
    `decompress_usual`.
    """
    return _decompressor(codec)(memoryview(data), most, False)


def usual_growth() -> tuple[int, int]:
    """Return the usual maximum of decompressed bytes for each byte, and of records."""
    limits = in_force()
    return limits.run_ratio, limits.run_record_ratio


def _most(size: int, limit: int | None) -> int:
    """Return the maximum decompressed size of a batch of `size` bytes, regardless of the run's budget."""
    most, free, ratio = growth()
    return min(most if limit is None else limit, max(free, ratio * size))


def growth() -> tuple[int, int, int]:
    """Return the maximum size of a decompressed batch, the size that is always allowed, and the maximum
    ratio, by the process's limits.
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
