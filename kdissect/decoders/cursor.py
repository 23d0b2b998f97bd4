"""Reading primitives off a buffer, each with its reason when the bytes do not fit."""

import struct
from typing import Any

from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.wording import plural

# An unsigned varint of 32 bits takes at most 5 bytes, the fifth with 4 bits (KIP-482;
# ByteUtils.readUnsignedVarint).
MAX_VARINT = 5
_FIFTH_BYTE_MAX = 0x0F


class Cursor:
    """A position in `data`. `pull_*` consumes what it returns or raises DecodeError with an empty path.

    The error's offset is where the thing that does not fit begins.
    """

    __slots__ = ("data", "end", "offset")

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data)

    def pull_fixed(self, code: str, width: int, what: str) -> Any:
        """Return one big-endian value of `struct` format `code`."""
        if self.end - self.offset < width:
            raise self._short(what, width, FaultKind.SHORT)
        value = struct.unpack_from(">" + code, self.data, self.offset)[0]
        self.offset += width
        return value

    def pull_int8(self) -> int:
        """Return a signed byte."""
        return int(self.pull_fixed("b", 1, "int8"))

    def pull_int16(self) -> int:
        """Return a signed 16-bit integer."""
        return int(self.pull_fixed("h", 2, "int16"))

    def pull_int32(self) -> int:
        """Return a signed 32-bit integer."""
        return int(self.pull_fixed("i", 4, "int32"))

    def pull_uvarint(self) -> int:
        """Return an unsigned varint of at most 32 bits."""
        value = shift = 0
        for at in range(self.offset, self.offset + MAX_VARINT):
            if at >= self.end:
                raise self.fault("varint runs past the end", kind=FaultKind.SHORT)
            byte = self.data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift == 28 and byte > _FIFTH_BYTE_MAX:
                    break
                self.offset = at + 1
                return value
            shift += 7
        raise self.fault("varint does not fit 32 bits", kind=FaultKind.VARINT)

    def pull_bytes(self, length: int, what: str) -> bytes:
        """`length` raw bytes."""
        if self.end - self.offset < length:
            raise self._short(what, length, FaultKind.LENGTH)
        start = self.offset
        self.offset = start + length
        return self.data[start : self.offset]

    def fault(self, why: str, offset: int | None = None, kind: FaultKind = FaultKind.OTHER) -> DecodeError:
        """Return a DecodeError here, or at `offset`."""
        return DecodeError("", self.offset if offset is None else offset, why, kind)

    def _short(self, what: str, width: int, kind: FaultKind) -> DecodeError:
        left = self.end - self.offset
        return self.fault(
            f"{what} of {plural(width, 'byte')} runs past the end, {max(left, 0)} left", kind=kind
        )


def more_varint(data: bytes, offset: int, first: int) -> tuple[int, int]:
    """Value of an unsigned varint whose first byte was `first`, over 127, and bytes taken from `offset` on.

    The compiled decoders' slow path: raises IndexError past the end and ValueError beyond 32 bits.
    """
    value = first & 0x7F
    for count in range(1, MAX_VARINT):
        byte = data[offset + count - 1]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            if value >> 32:
                break
            return value, count
    raise ValueError("varint does not fit 32 bits")


def encode_uvarint(value: int) -> bytes:
    """Return the bytes of an unsigned varint (KIP-482)."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uvarint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the unsigned varint at `offset` and its end. Raises like `more_varint`."""
    value = data[offset]
    offset += 1
    if value > 127:
        value, count = more_varint(data, offset, value)
        offset += count
    return value, offset


def skip_tags(data: bytes, offset: int) -> int:
    """End of the tag section at `offset` (KIP-482).

    Raises like `more_varint`; the end may lie past the data.
    """
    count, offset = uvarint(data, offset)
    for _ in range(count):
        _, offset = uvarint(data, offset)
        size, offset = uvarint(data, offset)
        offset += size
    return offset


def tag_section(data: bytes, offset: int) -> tuple[dict[int, bytes], int]:
    """Return the tag section at `offset`, and its end.

    Raises like `more_varint`; the last tag may be cut, with an end past the data.
    """
    tags: dict[int, bytes] = {}
    count, offset = uvarint(data, offset)
    for _ in range(count):
        tag, offset = uvarint(data, offset)
        size, offset = uvarint(data, offset)
        tags[tag] = data[offset : offset + size]
        offset += size
    return tags, offset
