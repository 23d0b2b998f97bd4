"""A broker that says one thing wrong: a proxy before a real one, which changes answers on their way."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from captures.replay.tape import BROKER, CLIENT, Tape
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.headers import parse_request_header, response_header_version
from kdissect.schema import protocol_messages

HOST = "127.0.0.1"
_SIZE = 4
_CORRELATION_ID = 4
_SMALLEST, _LARGEST = 4, 100 << 20  # a response without a body; socket.request.max.bytes of a broker
Change = Callable[[Any, Any], bool | bytes | None]
"""Is given the decoded answer, to be changed in place, and the request; False: this is not the one to change.
Bytes are sent in place of the whole answer, size included; empty ones leave it out."""


class Proxy:
    """Listens at `port` and passes on to the broker at `broker_port`. One fault at a time: `play`."""

    def __init__(self, port: int, broker_port: int) -> None:
        self._broker_port = broker_port
        self._lock = threading.Lock()
        self._apis: frozenset[str] = frozenset()
        self._change: Change | None = None
        self._left = 0
        self.played = 0
        self.tape = Tape()
        self._ends: list[float] = []
        self._last = self._accepted = 0.0
        self._listener = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def play(self, apis: tuple[str, ...], change: Change | None, times: int) -> None:
        """From now on change answers of these APIs, as often as `times` says, and record on a new tape."""
        with self._lock:
            self._apis, self._change, self._left = frozenset(apis), change, times
            self.played = 0
            self.tape = Tape()
            self._ends = []
            self._last = self._accepted = 0.0

    def ended(self) -> None:
        """Record that a client closed a connection on which a fault was played."""
        with self._lock:
            self._ends.append(time.monotonic())

    @property
    def left_for(self) -> float | None:
        """Seconds from the last fault until its connection was closed and another made; None: it was not."""
        ends = [end for end in self._ends if self._last <= end < self._accepted]
        return min(ends) - self._last if ends else None

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._accepted = time.monotonic()
            broker = socket.create_connection((HOST, self._broker_port))
            _Passage(self, client, broker)

    def changed(self, api_key: int, version: int, asked: bytes, frame: bytes) -> bytes | None:
        """Return what is to be sent instead of an answer; None: it stays as it is."""
        api = protocol_messages.api(api_key)
        with self._lock:
            change = self._change
            if change is None or api is None or api.name not in self._apis or not self._left:
                return None
            offset = _SIZE + _CORRELATION_ID + response_header_version(api_key, version)
            request = decoder(api.request, version)(asked, parse_request_header(asked).body_offset)[0]
            answer = decoder(api.response, version)(frame, offset)[0]
            done = change(answer, request)
            if done is False:
                return None
            self._left -= 1
            self.played += 1
            self._last = time.monotonic()
        if isinstance(done, bytes):
            return done
        content = frame[_SIZE:offset] + encode(api.response, version, answer)
        return struct.pack(">i", len(content)) + content


class _Passage:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, client: socket.socket, broker: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._broker = broker
        self._asked: dict[int, bytes] = {}
        self._wire = proxy.tape.connection()
        self._is_marked = False
        for work in (self._requests, self._answers):
            threading.Thread(target=work, daemon=True).start()

    def _requests(self) -> None:
        while (frame := _frame(self._client)) is not None:
            (correlation_id,) = struct.unpack_from(">i", frame, _SIZE + 4)
            self._asked[correlation_id] = frame[_SIZE:]
            self._wire.say(CLIENT, frame)
            self._send(self._broker, frame)
        self._wire.end(CLIENT)
        if self._is_marked:
            self._proxy.ended()
        self._end()

    def _answers(self) -> None:
        while (frame := _frame(self._broker)) is not None:
            (correlation_id,) = struct.unpack_from(">i", frame, _SIZE)
            asked = self._asked.pop(correlation_id, None)
            if asked is not None:
                key, version = struct.unpack_from(">hh", asked)
                other = self._proxy.changed(key, version, asked, frame)
                if other is not None:
                    frame, self._is_marked = other, True
            self._wire.say(BROKER, frame)
            self._send(self._client, frame)
        self._end()

    def _send(self, to: socket.socket, data: bytes) -> None:
        try:
            to.sendall(data)
        except OSError:
            self._end()

    def _end(self) -> None:
        for each in (self._client, self._broker):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


def _frame(source: socket.socket) -> bytes | None:
    """Return the next frame with its size; None where the stream ends, or the size is that of no frame."""
    head = _exactly(source, _SIZE)
    if head is None:
        return None
    (size,) = struct.unpack(">i", head)
    if not _SMALLEST <= size <= _LARGEST:
        return None
    content = _exactly(source, size)
    return None if content is None else head + content


def _exactly(source: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        try:
            more = source.recv(count - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return data
