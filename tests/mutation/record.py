"""Records of magic 2, taken apart and put together by hand (spec/001 "5.3.2 Record")."""

from collections.abc import Sequence

from tests.support.messages.batches import blob, zigzag

Header = tuple[bytes | None, bytes | None]


class Plain:
    """One record. `value_length`, if not None, stands for that of the value; `tail` follows the headers."""

    def __init__(
        self, attributes: int, time_delta: int, offset_delta: int, key: bytes | None, value: bytes | None,
        headers: list[Header],
    ) -> None:  # fmt: skip
        self.attributes = attributes
        self.time_delta = time_delta
        self.offset_delta = offset_delta
        self.key = key
        self.value = value
        self.headers = headers
        self.value_length: int | None = None
        self.tail = b""

    def but(self, **changes: object) -> "Plain":
        """Return the same record with changes."""
        other = Plain(
            self.attributes, self.time_delta, self.offset_delta, self.key, self.value, list(self.headers)
        )
        for name, value in changes.items():
            setattr(other, name, value)
        return other


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def blob(self) -> bytes | None:
        length = self.varint()
        if length < 0:
            return None
        self.at += length
        return self.data[self.at - length : self.at]


def split(data: bytes) -> list[Plain]:
    """Return every record of a batch's bytes."""
    reader, found = _Reader(data), []
    while reader.at < len(data):
        reader.varint()  # the length
        attributes, time_delta, offset_delta = reader.byte(), reader.varint(), reader.varint()
        key, value = reader.blob(), reader.blob()
        headers = [(reader.blob(), reader.blob()) for _ in range(reader.varint())]
        found.append(Plain(attributes, time_delta, offset_delta, key, value, headers))
    return found


def join(records: Sequence[Plain]) -> bytes:
    """Return the bytes of records."""
    out = b""
    for record in records:
        body = bytes((record.attributes,)) + zigzag(record.time_delta) + zigzag(record.offset_delta)
        body += blob(record.key) + _value(record) + zigzag(len(record.headers))
        for key, value in record.headers:
            body += blob(key) + blob(value)
        body += record.tail
        out += zigzag(len(body)) + body
    return out


def _value(record: Plain) -> bytes:
    if record.value_length is None:
        return blob(record.value)
    return zigzag(record.value_length) + (record.value or b"")
