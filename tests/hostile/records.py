"""Record batches: bombs, lies about lengths and counts, wrappers in wrappers, damage that is dear to
search."""

import gzip
import struct
import zlib
from collections.abc import Callable
from functools import cache

import cramjam
import lz4.frame
import zstandard

from kdissect.decoders.encoder import encode_request
from tests.hostile.framing import streams
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes, zigzag
from tests.support.messages.traffic import CLIENT


def produced(*batches: bytes, version: int = 7) -> Callable[[], bytes]:
    """Return a good exchange, then a Produce request for each."""
    return streams(*[(CLIENT, _produce(data, number, version)) for number, data in enumerate(batches)])


def _produce(batch: bytes, number: int, version: int) -> bytes:
    topics = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
    fields = {"acks": 1, "timeout_ms": 9, "topic_data": topics}
    return encode_request(0, version, 50 + number, "me", fields)


RECORD = record_bytes(0, 0, b"k", b"v")


@cache
def _minimal(count: int) -> bytes:
    return record_bytes() * count


def _gzip_of_zeros(size: int) -> bytes:
    stream = zlib.compressobj(1, zlib.DEFLATED, 31)
    chunk = bytes(1 << 20)
    return b"".join(stream.compress(chunk) for _ in range(size >> 20)) + stream.flush()


def _zstd_of_zeros(size: int) -> bytes:
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()


def _lz4_that_claims(size: int) -> bytes:
    frame = bytearray(lz4.frame.compress(b"abc" * 30))
    frame[6:14] = size.to_bytes(8, "little")
    return bytes(frame)


def _damaged_by_turns(count: int) -> bytes:
    """Return batches whose checksums are wrong, with bytes between them that are none."""
    return (batch_bytes(RECORD, 1, crc=7) + b"\xee" * 20) * count


def _swallowing(count: int) -> bytes:
    """Return batches, each of which claims to include all later ones."""
    one = batch_bytes(RECORD, 1)
    return b"".join(one[:8] + struct.pack(">i", len(one) * (count - n) - 12) + one[12:] for n in range(count))


def _wrapped(times: int) -> bytes:
    message = message_bytes(b"inside", magic=1, offset=0)
    for _ in range(times):
        message = message_bytes(gzip.compress(message, mtime=0), magic=1, offset=0, attributes=1)
    return message


def _snappy_blocks(count: int) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(b""))
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + (len(block).to_bytes(4) + block) * count


def _headers_by_the_billion() -> bytes:
    body = b"\0\0\0" + zigzag(-1) + zigzag(-1) + zigzag(0x7FFFFFFF) + b"\0" * 20
    return batch_bytes(zigzag(len(body)) + body, 1)


def _record(body: bytes) -> bytes:
    return batch_bytes(zigzag(len(body)) + body, 1)


def _with_magic(magic: int) -> bytes:
    batch = bytearray(batch_bytes(RECORD, 1))
    batch[16] = magic
    return bytes(batch)


def _inner_magic() -> bytes:
    inside = message_bytes(b"zero", magic=0)
    return message_bytes(gzip.compress(inside, mtime=0), magic=1, attributes=1)


def _short_length() -> bytes:
    batch = bytearray(batch_bytes(RECORD, 1))
    batch[8:12] = struct.pack(">i", 3)
    return bytes(batch)


FILES: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    ("batch-with-a-wrong-checksum", "bad_crc", produced(batch_bytes(RECORD, 1, crc=1))),
    ("batch-of-3-bytes", "bad_batch_length", produced(_short_length())),
    ("batch-of-negative-length", "bad_batch_length", produced(batch_bytes(RECORD, 1, length=-1))),
    ("batch-of-2g", "cut_batch", produced(batch_bytes(RECORD, 1, length=0x7FFFFFFF))),
    ("batches-damaged-by-turns", "bad_crc", lambda: produced(_damaged_by_turns(6000))()),
    ("batches-that-swallow-each-other", "bad_crc", lambda: produced(_swallowing(1500))()),
    ("batch-of-magic-9", "unknown_magic", produced(_with_magic(9))),
    ("records-by-the-billion", "bad_record_count", produced(batch_bytes(RECORD, 0x7FFFFFFF, last_delta=0))),
    ("records-of-negative-count", "bad_record_count", produced(batch_bytes(RECORD, -5, last_delta=0))),
    ("record-longer-than-the-batch", "malformed_record", produced(batch_bytes(zigzag(1 << 30) + b"abc", 1))),
    ("record-of-negative-length", "malformed_record", produced(batch_bytes(zigzag(-4) + b"abc", 1))),
    ("record-with-a-varint-without-end", "malformed_record", produced(batch_bytes(b"\xff" * 60, 1))),
    (
        "key-of-length-minus-9",
        "negative_length",
        produced(_record(b"\0\0\0" + zigzag(-9) + zigzag(-1) + b"\0")),
    ),
    ("headers-by-the-billion", "malformed_record", produced(_headers_by_the_billion())),
    (
        "header-key-null",
        "null_header_key",
        produced(_record(b"\0\0\0" + zigzag(-1) * 2 + zigzag(1) + zigzag(-1) + zigzag(-1))),
    ),
    ("codec-7", "unknown_codec", produced(batch_bytes(b"abc", 1, attributes=7))),
    ("gzip-that-is-none", "corrupt_compression", produced(batch_bytes(b"abc" * 9, 1, attributes=1))),
    (
        "gzip-bomb-in-a-batch",
        "decompression_limit",
        lambda: produced(batch_bytes(_gzip_of_zeros(200 << 20), 1, attributes=1))(),
    ),
    (
        "zstd-bomb-in-a-batch",
        "decompression_limit",
        lambda: produced(batch_bytes(_zstd_of_zeros(200 << 20), 1, attributes=4))(),
    ),
    (
        "lz4-that-claims-terabytes",
        "corrupt_compression",
        produced(batch_bytes(_lz4_that_claims(1 << 42), 1, attributes=3)),
    ),
    (
        "snappy-that-claims-4g",
        "decompression_limit",
        produced(batch_bytes(b"\xff\xff\xff\xff\x0f" + bytes(20), 1, attributes=2)),
    ),
    (
        "snappy-of-empty-blocks",
        "bad_record_count",
        lambda: produced(batch_bytes(_snappy_blocks(20_000), 1, attributes=2))(),
    ),
    (
        "gzip-of-empty-members",
        "bad_record_count",
        lambda: produced(batch_bytes(gzip.compress(b"", mtime=0) * 10_000, 1, attributes=1))(),
    ),
    ("messages-wrapped-twice", "nested_compression", produced(_wrapped(2), version=2)),
    ("messages-wrapped-forty-times", "nested_compression", produced(_wrapped(40), version=2)),
    (
        "wrapper-of-nothing",
        "empty_wrapper",
        produced(message_bytes(gzip.compress(b"", mtime=0), magic=1, attributes=1), version=2),
    ),
    ("wrapper-of-another-magic", "inner_magic", produced(_inner_magic(), version=2)),
    ("message-cut", "cut_batch", produced(message_bytes(b"abc", magic=1)[:-2], version=2)),
)
