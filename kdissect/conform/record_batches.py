"""Record batches to produce: magic 2 (KIP-98) with any codec, and message sets of magic 0 and 1 (KIP-32)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from kdissect.decoders.compression.compress import compress
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.varint import encode_varint
from kdissect.model.record_batch import CONTROL, TRANSACTIONAL

Pairs = Sequence[tuple[bytes | None, bytes | None]]
"""Keys and values."""
_CHECKSUM_AT = 17  # of a batch of magic 2 (spec/001 "5.3.1 Record Batch")


def batch(
    records: Pairs,
    time_ms: int,
    *,
    codec: int = 0,
    producer: tuple[int, int] = (-1, -1),
    sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """Return a batch of magic 2. `producer` is an id and its epoch.

    Raises ValueError for an unknown codec.
    """
    content: bytes | None = b"".join(_record(index, *pair) for index, pair in enumerate(records))
    if codec:
        content = compress(codec, content or b"", b"", 2)
    if content is None:
        raise ValueError(f"no codec {codec}")
    bits = codec | (TRANSACTIONAL if is_transactional else 0)
    return _batch(bits, len(records), time_ms, producer, sequence, content)


def control_batch(producer: tuple[int, int], time_ms: int, *, is_committed: bool) -> bytes:
    """Return the marker that ends a transaction (spec/001 "5.3.1.1 Control Batches")."""
    key = struct.pack(">hh", 0, is_committed)
    value = struct.pack(">hi", 0, 0)
    return _batch(TRANSACTIONAL | CONTROL, 1, time_ms, producer, -1, _record(0, key, value, b""))


def _batch(
    bits: int, count: int, time_ms: int, producer: tuple[int, int], sequence: int, content: bytes
) -> bytes:
    last = count - 1
    body = struct.pack(">hiqqqhii", bits, last, time_ms, time_ms, *producer, sequence, count) + content
    head = struct.pack(">iBI", -1, 2, crc32c(body))
    return struct.pack(">qi", 0, len(head) + len(body)) + head + body


def message_set(records: Pairs, time_ms: int, magic: int) -> bytes:
    """Return messages of magic 0 or 1 without compression."""
    parts = []
    for offset, (key, value) in enumerate(records):
        stamp = struct.pack(">q", time_ms) if magic else b""
        body = struct.pack(">bb", magic, 0) + stamp + _with_length(key) + _with_length(value)
        message = struct.pack(">I", zlib.crc32(body)) + body
        parts.append(struct.pack(">qi", offset, len(message)) + message)
    return b"".join(parts)


def with_wrong_checksum(made: bytes) -> bytes:
    """Return a batch of magic 2 whose checksum is that of no content."""
    wrong = made[_CHECKSUM_AT] ^ 0xFF
    return made[:_CHECKSUM_AT] + bytes((wrong,)) + made[_CHECKSUM_AT + 1 :]


def _record(index: int, key: bytes | None, value: bytes | None, origin: bytes = b"kdissect") -> bytes:
    # attributes, timestamp delta, offset delta, key, value, headers (spec/001 "5.3.2 Record")
    header = encode_varint(1) + _varbytes(b"from") + _varbytes(origin) if origin else encode_varint(0)
    body = b"\0" + encode_varint(0) + encode_varint(index) + _varbytes(key) + _varbytes(value) + header
    return encode_varint(len(body)) + body


def _varbytes(data: bytes | None) -> bytes:
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


def _with_length(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
