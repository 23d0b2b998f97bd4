"""Frames without their records: what machines, statistics and rules about several connections need of them.

Rules:
- Everything but the records stays byte by byte, at its place: who decodes a stub frame gets the same values,
  batches, sizes and counts, and cannot read records.
- Bytes of records become zeros, which take no room, but for four of them, by which the checksum of the batch
  is right as it stands (`forged`).
- The first bytes of a batch stay: findings show 32 bytes from where a fault begins.
- If something does not fit, a checksum is wrong, or a frame was cut, a records field stays unchanged. So do
  pieces of snapshots and the metadata log, whose records contain names.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache

from kdissect.decoders.records.batch_layout import ATTRIBUTES_AT, CURRENT_MAGIC, MAGIC_AT
from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.records.record_sets import FieldBatches, record_batches, records_side
from kdissect.model.frame import Frame
from kdissect.model.record_batch import RecordBatch
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange

Piece = bytes | int
"""Bytes, or a number of zeros."""
Pieces = tuple[Piece, ...]
# Bytes of a batch that stay: the header of magic 2, and the same number of bytes of old messages.
_KEPT = 64
# Fewer zeros cost more as a piece of their own.
_WORTH = 16


def whole_frames(exchange: Exchange) -> tuple[Pieces | None, Pieces | None]:
    """Return the bytes of request and response with their records; None for a frame that is not there."""
    return _whole(exchange.request), _whole(exchange.response)


def stubs_of(exchange: Exchange) -> tuple[Pieces | None, Pieces | None]:
    """Return the bytes of request and response without their records; None for a frame that is not there."""
    request, response = whole_frames(exchange)
    side = None if exchange.api_key is None else records_side(exchange.api_key)
    if side is None:
        return request, response
    frame = exchange.response if side else exchange.request
    if frame is None:
        return request, response
    pieces = _stub(frame.data, record_batches(exchange))
    return (request, pieces) if side else (pieces, response)


def stub_bytes(pieces: Pieces) -> bytes:
    """Return the bytes of a stub frame."""
    if len(pieces) == 1 and isinstance(pieces[0], bytes):
        return pieces[0]
    return b"".join(bytes(piece) if isinstance(piece, int) else piece for piece in pieces)


def _whole(frame: Frame | None) -> Pieces | None:
    return None if frame is None else (frame.data,)


def _stub(data: bytes, fields: tuple[FieldBatches, ...]) -> Pieces:
    pieces: list[Piece] = []
    at = 0
    for batch in _batches(fields):
        start, end = batch.start + _KEPT, batch.end - FORGED_BYTES
        pieces += data[at:start], end - start, _last_bytes(batch, data[batch.start : start], end - start)
        at = batch.end
    pieces.append(data[at:])
    return tuple(_joined(pieces))


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """Yield bytes that follow each other as one piece."""
    held: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            held.append(piece)
        else:
            yield b"".join(held)
            held = []
            yield piece
    yield b"".join(held)


def _batches(fields: tuple[FieldBatches, ...]) -> Iterator[RecordBatch]:
    """Yield the batches whose records go, in the order of their bytes."""
    for field, found in fields:
        is_kept = field.position is not None or field.topic == METADATA_TOPIC
        if is_kept or field.topic_id == METADATA_TOPIC_ID or found.faults:
            continue
        if any(batch.faults or not batch.crc_is_right for batch in found.batches):
            continue  # where the next one begins may depend on their bytes
        yield from (batch for batch in found.batches if batch.size >= _KEPT + _WORTH + FORGED_BYTES)


def _last_bytes(batch: RecordBatch, head: bytes, zeros: int) -> bytes:
    """Return the bytes behind the zeros by which the checksum of a batch, which begins with `head`, is
    right.
    """
    if batch.magic == CURRENT_MAGIC:
        return forged(CASTAGNOLI, crc32c(head[ATTRIBUTES_AT:] + bytes(zeros)), batch.crc)
    return forged(IEEE, zlib.crc32(head[MAGIC_AT:] + bytes(zeros)), batch.crc)


# Reflected polynomials: CRC-32C (RFC 3720 appendix B.4), CRC-32 (ISO 3309, RFC 1952 field 8).
CASTAGNOLI = 0x82F63B78
IEEE = 0xEDB88320
FORGED_BYTES = 4
_ALL = 0xFFFFFFFF  # registers begin and end inverted


def forged(polynomial: int, before: int, wanted: int) -> bytes:
    """Return the bytes to put after a message of checksum `before`, so that the whole has the checksum
    `wanted`.

    A CRC is a shift register: from the value wanted at the end one can step back over four bytes, which are
    then what leads there from the value before them.
    """
    table, index_of = _tables(polynomial)
    register = wanted ^ _ALL
    for _ in range(FORGED_BYTES):
        index = index_of[register >> 24]
        register = ((register ^ table[index]) << 8 | index) & _ALL
    return (register ^ before ^ _ALL).to_bytes(FORGED_BYTES, "little")


@cache
def _tables(polynomial: int) -> tuple[list[int], list[int]]:
    """Return the value that each byte adds to the register, and the byte for each highest byte of that
    value.
    """
    table = []
    for byte in range(256):
        register = byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
        table.append(register)
    index_of = [0] * 256
    for byte, register in enumerate(table):
        index_of[register >> 24] = byte
    return table, index_of
