"""A client that sends what it is told, one request after the other, and says what came of it."""

import socket
import struct
from collections.abc import Sequence
from typing import Any

from captures.replay.tape import BROKER, CLIENT, Tape
from kdissect.decoders.encoder import encode_request
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.headers import response_header_version
from kdissect.decoders.records.checksum import crc32c
from kdissect.schema import protocol_messages
from kdissect.schema.error_codes import error_name

CLIENT_ID = "replay"
_SIZE = 4
_WAIT_SECONDS = 3
_CORRELATION_ID = 4  # bytes of a response header; flexible ones have a tag section of one byte behind
CLOSED, SILENT = "closes the connection", "does not answer"


class RefusedError(Exception):
    """The broker closed, or said nothing; the text says which."""


class RawClient:
    """One connection to a broker; what is said goes onto the tape."""

    def __init__(self, address: str, tape: Tape | None = None) -> None:
        host, port = address.split(":")
        self._wire = (tape or Tape()).connection()
        self._socket = socket.create_connection((host, int(port)), _WAIT_SECONDS)
        self._next = 0

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def frame(self, api: str, version: int, **body: Any) -> bytes:
        """Return a whole request with the next correlation id, size included."""
        self._next += 1
        return encode_request(_key(api), version, self._next, CLIENT_ID, body)

    def ask(self, api: str, version: int, **body: Any) -> Any:
        """Send a request; the decoded body of its answer. Raises RefusedError where there is none."""
        return self.say(self.frame(api, version, **body), api, version)

    def say(self, data: bytes, api: str, version: int) -> Any:
        """`send` and `hear`. Raises RefusedError where there is no answer."""
        self.send(data)
        return self.hear(api, version)

    def send(self, data: bytes) -> None:
        """Send bytes and wait for nothing."""
        self._wire.say(CLIENT, data)
        try:
            self._socket.sendall(data)
        except ConnectionError:
            raise RefusedError(CLOSED) from None

    def hear(self, api: str, version: int) -> Any:
        """Return the next response, decoded as an API version. Raises RefusedError if there is none."""
        head = self._read(_SIZE)
        content = self._read(struct.unpack(">i", head)[0])
        self._wire.say(BROKER, head + content)
        offset = _CORRELATION_ID + response_header_version(_key(api), version)
        message = protocol_messages.response_message(_key(api))
        assert message is not None
        return decoder(message, version)(content, offset)[0]

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except TimeoutError:
                raise RefusedError(SILENT) from None
            except ConnectionError:
                more = b""
            if not more:
                self._wire.end(BROKER)
                raise RefusedError(CLOSED)
            data += more
        return data


def _key(api: str) -> int:
    found = protocol_messages.api_by_name(api)
    assert found is not None, api
    return found.key


def answered(code: int) -> str:
    """Return an error code in the words of the evidence."""
    return f"answers {error_name(code)}" if code else "answers without an error"


def batch(
    values: Sequence[bytes], producer: int = -1, epoch: int = -1, sequence: int = -1, *, bits: int = 0
) -> bytes:
    """Return a record batch of magic 2 (spec/001 "5.3.1 Record Batch"); `bits` are its attributes."""
    records = b"".join(map(_record, range(len(values)), values))
    stamp = 1_760_000_000_000
    body = struct.pack(
        ">hiqqqhii", bits, len(values) - 1, stamp, stamp, producer, epoch, sequence, len(values)
    )
    body += records
    head = struct.pack(">iBI", -1, 2, crc32c(body))
    return struct.pack(">qi", 0, len(head) + len(body)) + head + body


def _record(number: int, value: bytes) -> bytes:
    # attributes, timestamp delta 0, offset delta, null key, value, no headers (spec/001 "5.3.2 Record")
    body = b"\0\0" + bytes((2 * number, 1)) + bytes((2 * len(value),)) + value + b"\0"
    return bytes((2 * len(body),)) + body
