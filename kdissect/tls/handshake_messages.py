"""Handshake messages: cut out of the records that carry them (RFC 8446 section 4), and read."""

from enum import IntEnum
from typing import NamedTuple

from kdissect.model.wording import plural

_HEAD = 4  # type and a length of 3 bytes
# Longest message that is waited for. Certificate chains are the longest; OpenSSL takes 100 KiB
# (SSL_CTX_set_max_cert_list).
MAX_MESSAGE = 1 << 18


# Reads the vectors of TLS's presentation language (RFC 8446 section 3).
class ShortMessageError(ValueError):
    """A message ends before its fields do."""


class Cursor:
    """A position in a message. `pull_*` consume it, and raise `ShortMessageError` for too few bytes."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not consumed."""
        return len(self._data) - self._at

    def pull(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        if count > self.left:
            raise ShortMessageError(f"{plural(count, 'byte')} wanted, {self.left} left")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    def pull_uint(self, width: int) -> int:
        """Return an unsigned integer of `width` bytes."""
        return int.from_bytes(self.pull(width))

    def pull_vector(self, width: int) -> bytes:
        """Return the bytes after a length of `width` bytes."""
        return self.pull(self.pull_uint(width))


class HandshakeType(IntEnum):
    """RFC 8446 appendix B.3."""

    HELLO_REQUEST = 0
    CLIENT_HELLO = 1
    SERVER_HELLO = 2
    END_OF_EARLY_DATA = 5
    ENCRYPTED_EXTENSIONS = 8
    CERTIFICATE = 11
    SERVER_KEY_EXCHANGE = 12  # RFC 5246 section 7.4
    FINISHED = 20
    KEY_UPDATE = 24


class Message(NamedTuple):
    """A handshake message."""

    kind: int
    body: bytes


class MessageCutter:
    """Cutter of messages. `feed()` takes the content of handshake records and returns the messages they
    complete.
    """

    __slots__ = ("_held", "is_lost")

    def __init__(self) -> None:
        self._held = b""
        self.is_lost = False

    def feed(self, content: bytes) -> list[Message]:
        """Return the messages that end in this content."""
        data = self._held + content
        messages: list[Message] = []
        at = 0
        while len(data) - at >= _HEAD:
            length = int.from_bytes(data[at + 1 : at + _HEAD])
            if length > MAX_MESSAGE:
                self.is_lost = True
                break
            stop = at + _HEAD + length
            if stop > len(data):
                break
            messages.append(Message(data[at], data[at + _HEAD : stop]))
            at = stop
        self._held = b"" if self.is_lost else data[at:]
        return messages
