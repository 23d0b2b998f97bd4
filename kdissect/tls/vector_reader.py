"""Reads the vectors of TLS's presentation language (RFC 8446 section 3)."""

from kdissect.model.wording import plural


class ShortMessageError(ValueError):
    """A message ends before its fields do."""


class Cursor:
    """A position in a message. `pull_*` consume it; they raise `ShortMessageError` for too few bytes."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not consumed."""
        return len(self._data) - self._at

    def pull(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > self.left:
            raise ShortMessageError(f"{plural(count, 'byte')} wanted, {self.left} left")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    def pull_uint(self, width: int) -> int:
        """An unsigned integer of `width` bytes."""
        return int.from_bytes(self.pull(width))

    def pull_vector(self, width: int) -> bytes:
        """Bytes behind a length of `width` bytes."""
        return self.pull(self.pull_uint(width))
