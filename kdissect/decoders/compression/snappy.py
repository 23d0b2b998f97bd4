"""snappy: codec 2, raw or in the framing of snappy-java (xerial).

Decoding of blocks is cramjam's: a wheel for every platform, at 1.5 to 2 GB/s. A decoder of our own in Python
was measured at 0.02 to 0.03 GB/s.
"""

import cramjam

from kdissect.model.errors import BrokenFrameError, DecodeError, OutputLimitError
from kdissect.model.wording import plural

# org.xerial.snappy.SnappyCodec: magic, version, lowest compatible version, then blocks of an int32 length and
# raw snappy of that length. Kafka's Java clients write it, and other clients write one raw block. Brokers
# accept both.
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = len(XERIAL_MAGIC) + 8
_LENGTH = 4
# Both numbers of the header are 1, written by DataOutputStream#writeInt (java.io): the first byte is the most
# significant.
LITTLE_ENDIAN = (1).to_bytes(_LENGTH, "little") * 2
# The tightest element is a copy of 64 bytes in 3 (google/snappy, format_description.txt section 2.2.2).
_MAX_RATIO = 64 / 3
_MAX_PREAMBLE = 5  # a uvarint of 32 bits (format_description.txt section 1)


def decompress_snappy(data: memoryview, limit: int) -> bytes:
    """Return the content of a raw block or a stream of blocks. Raises DecodeError, OutputLimitError.

    A stream whose header has little-endian numbers raises BrokenFrameError: readers that look at the numbers
    refuse it, others read it.
    """
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        return _block(data, limit, 0)
    if len(data) < XERIAL_HEADER:
        raise DecodeError("snappy", len(data), "the stream's header ends early")
    parts: list[bytes] = []
    is_little = data[len(XERIAL_MAGIC) : XERIAL_HEADER] == LITTLE_ENDIAN
    at = XERIAL_HEADER
    total = 0
    while at < len(data):
        if data[at : at + len(XERIAL_MAGIC)] == XERIAL_MAGIC:  # streams may follow each other
            at += XERIAL_HEADER
            continue
        length = int.from_bytes(data[at : at + _LENGTH])
        start = at + _LENGTH
        at = start + length
        if at > len(data):
            raise DecodeError(
                "snappy", min(start, len(data)), f"block of {plural(length, 'byte')} runs past the end"
            )
        parts.append(_block(data[start:at], limit, start, total))
        total += len(parts[-1])
    content = parts[0] if len(parts) == 1 else b"".join(parts)
    if is_little:
        raise BrokenFrameError(
            "snappy", len(XERIAL_MAGIC), "the version numbers of the header are little-endian", content
        )
    return content


def _block(data: memoryview, limit: int, offset: int, before: int = 0) -> bytes:
    size = _uncompressed_size(data, offset)
    if before + size > limit:
        raise OutputLimitError("snappy", offset, f"bytes grow beyond {limit}")
    if size > _MAX_RATIO * len(data):  # the library would believe it, and allocate
        raise DecodeError("snappy", offset, f"{plural(len(data), 'byte')} cannot hold {size}")
    try:
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise DecodeError("snappy", offset, f"bytes are not snappy ({error})") from None


def _uncompressed_size(data: memoryview, offset: int) -> int:
    size = 0
    for index, byte in enumerate(data[:_MAX_PREAMBLE]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return size
    raise DecodeError("snappy", offset, "the block's length runs past the end")
