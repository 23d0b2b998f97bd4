"""Finds the next record of one direction behind bytes that were not captured.

A record is found when it opens: with the number it would have if so and so many records were lost. For AEAD
suites the plaintext that was lost can be counted then, to the byte; readers of it keep their place.
"""

from kdissect.model.packets.stream import UNKNOWN_LENGTH
from kdissect.tls.protection import Protection
from kdissect.tls.tls_record import HEADER, Record, RecordCutter, is_header

# Bytes searched for a record before the direction is given up.
_SEARCHED_BYTES = 1 << 20
# Numbers tried for one place: as many records may be lost at once, 64 MB of full ones.
MAX_LOST_RECORDS = 4096
_MAX_TRIALS = 1 << 16  # in one hole; about 2 us each for small records


class Recovery:
    """A search. `lost` counts bytes that are missing or passed over."""

    def __init__(self, lost: int) -> None:
        self._lost = lost
        self._chunks: list[tuple[bytes, int, int]] = []
        self._data = b""
        self._at = 0
        self._trials = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether too much was searched."""
        return self._trials >= _MAX_TRIALS or self._at >= _SEARCHED_BYTES

    def widen(self, length: int) -> None:
        """More bytes are missing: what was collected before them is given up."""
        self._lost += len(self._data) + length
        self._chunks, self._data, self._at = [], b"", 0

    def feed(self, payload: bytes, ref: int, time_ns: int, protection: Protection) -> int | None:
        """Search with the next bytes; the length of the plaintext that was lost once a record is found.

        That is `UNKNOWN_LENGTH` where it cannot be told. `protection` counts on from the record found, and
        `chunks` gives the bytes from it on.
        """
        self._chunks.append((payload, ref, time_ns))
        self._data += payload
        data = self._data
        while self._at < len(data) and not self.is_hopeless:
            if len(data) - self._at < HEADER:
                return None
            if is_header(data, self._at):
                record = _record_at(data, self._at)
                if record is None:
                    return None  # wait for the rest of what may be a record
                first = protection.number
                if self._opens(record, protection):
                    return self._plain_lost(protection, protection.number - first)
                protection.number = first
            self._at += 1
        return None

    def chunks(self) -> list[tuple[bytes, int, int]]:
        """The bytes from the record found on, with their packets."""
        skip, rest = self._at, []
        for payload, ref, time_ns in self._chunks:
            if skip < len(payload):
                rest.append((payload[skip:], ref, time_ns))
            skip = max(0, skip - len(payload))
        return rest

    def _opens(self, record: Record, protection: Protection) -> bool:
        least = HEADER + (protection.overhead or 0)
        most = min((self._lost + self._at) // least, MAX_LOST_RECORDS) + 1
        for _ in range(most):
            self._trials += 1
            if protection.open(record) is not None:
                return True
            protection.number += 1
        return False

    def _plain_lost(self, protection: Protection, records: int) -> int:
        if protection.overhead is None:
            return UNKNOWN_LENGTH
        length = self._lost + self._at - records * (HEADER + protection.overhead)
        return length if length >= 0 else UNKNOWN_LENGTH


def _record_at(data: bytes, at: int) -> Record | None:
    """The whole record at an offset; None while bytes of it lack."""
    end = at + HEADER + int.from_bytes(data[at + 3 : at + HEADER])
    records = RecordCutter().feed(data[at:end], 0, 0) if end <= len(data) else []
    return records[0] if records else None
