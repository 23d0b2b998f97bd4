"""Builds record batches by hand, byte by byte, without kdissect's own code.

Kafka-python builds whole ones.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence

from crc32c import crc32c

from tests.support.messages.kafka_python import DefaultRecordBatchBuilder, LegacyRecordBatchBuilder

Header = tuple[str, bytes | None]


def zigzag(value: int) -> bytes:
    """Return a zigzag varint, as protobuf's sint64 has it."""
    coded = (value << 1) ^ (value >> 63)
    coded &= (1 << 64) - 1
    out = bytearray()
    while coded > 0x7F:
        out.append(coded & 0x7F | 0x80)
        coded >>= 7
    return bytes((*out, coded))


def blob(value: bytes | None) -> bytes:
    """Nullable bytes of a record."""
    return zigzag(-1) if value is None else zigzag(len(value)) + value


def record_bytes(
    offset_delta: int = 0, timestamp_delta: int = 0, key: bytes | None = None, value: bytes | None = None,
    headers: Sequence[Header] = (), attributes: int = 0,
) -> bytes:  # fmt: skip
    """Return a record of magic 2 with its length."""
    body = bytes((attributes,)) + zigzag(timestamp_delta) + zigzag(offset_delta) + blob(key) + blob(value)
    body += zigzag(len(headers))
    for name, content in headers:
        body += blob(name.encode()) + blob(content)
    return zigzag(len(body)) + body


def batch_bytes(
    records: bytes = b"", count: int = 1, *, base_offset: int = 0, attributes: int = 0,
    last_delta: int | None = None, base_timestamp: int = 1_700_000_000_000,
    max_timestamp: int = 1_700_000_000_999, producer_id: int = -1, epoch: int = -1, sequence: int = -1,
    leader_epoch: int = 0, length: int | None = None, crc: int | None = None,
) -> bytes:  # fmt: skip
    """Return a batch of magic 2; `length` and `crc` as given, else right."""
    delta = count - 1 if last_delta is None else last_delta
    tail = struct.pack(
        ">hiqqqhii", attributes, delta, base_timestamp, max_timestamp, producer_id, epoch, sequence, count
    )
    tail += records
    head = struct.pack(
        ">qiibI", base_offset, len(tail) + 9 if length is None else length, leader_epoch, 2,
        crc32c(tail) if crc is None else crc,
    )  # fmt: skip
    return head + tail


def message_bytes(
    value: bytes | None, *, magic: int = 1, offset: int = 0, key: bytes | None = None, attributes: int = 0,
    timestamp: int = 1_400_000_000_000,
) -> bytes:  # fmt: skip
    """Return a message of magic 0 or 1."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for part in (key, value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


Sample = tuple[int, bytes | None, bytes | None, list[Header]]
"""Timestamp, key, value, headers."""


def kafka_python_batch(samples: Iterable[Sample], codec: int = 0, **options: object) -> bytes:
    """Return a batch of magic 2 as kafka-python builds it."""
    settings = {
        "is_transactional": False, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
    } | options  # fmt: skip
    builder = DefaultRecordBatchBuilder(magic=2, compression_type=codec, batch_size=1 << 30, **settings)
    for index, (timestamp, key, value, headers) in enumerate(samples):
        assert builder.append(index, timestamp, key, value, list(headers)) is not None
    return bytes(builder.build())


def kafka_python_messages(samples: Iterable[Sample], magic: int, codec: int = 0) -> bytes:
    """Return a message set of magic 0 or 1 as kafka-python builds it."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 30)
    for index, (timestamp, key, value, _headers) in enumerate(samples):
        assert builder.append(index, timestamp if magic else None, key, value) is not None
    return bytes(builder.build())
