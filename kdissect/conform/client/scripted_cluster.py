"""Three nodes on loopback that speak Kafka, record every byte, and play the part that a script gives them.

A client that hangs, floods, closes or sends garbage costs its connection. It raises nothing.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from queue import Queue
from typing import Any, NamedTuple, Protocol

from kdissect.conform.broker_connection import framed
from kdissect.conform.client import (
    admin_responses,
    group_responses,
    record_responses,
    transaction_responses,
)
from kdissect.conform.client.cluster_state import Body, ClusterState
from kdissect.conform.client.cluster_topics import NODES
from kdissect.conform.client.exchange_log import Asked, key_of
from kdissect.conform.run_capture import RecordedConnection, RunCapture
from kdissect.conform.statement_results import Place
from kdissect.decoders.encoder import encode
from kdissect.decoders.headers import RESPONSE, parse_request_header, response_header_version
from kdissect.decoders.messages import decode_request
from kdissect.model.endpoint import Endpoint
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.schema.acceptance import taken_range
from kdissect.schema.protocol_messages import API_VERSIONS

HOST = "127.0.0.1"
UNKNOWN_TAGS = {9_999: b"kdissect"}
"""Tagged fields of no message: KIP-482 gives numbers in ascending order."""
MAX_FRAME = 16 << 20
MAX_BYTES = 64 << 20
"""Bytes that all clients of a situation may send."""
MAX_REQUESTS = 20_000
MAX_CONNECTIONS = 500
_CHUNK = 65_536
_SIZE = 4
_WAITING = 1000  # requests of a connection that are read ahead
_CUT_AT = 10  # before the first records, which clients may read one by one
_PIECE = 5  # bytes of the first pieces of a response that comes in pieces
_PAUSE_S = 0.02
_JOIN_S = 2.0

HANDLERS: dict[int, Callable[[ClusterState, Asked], Body | None]] = {
    key_of(name): handler
    for module in (record_responses, group_responses, transaction_responses, admin_responses)
    for name, handler in module.HANDLERS.items()
}


class Reply(NamedTuple):
    """A response, and how it is sent. Without a `body` there is no response."""

    body: Body | None
    version: int
    """The version of the body."""
    delay_s: float = 0.0
    in_pieces: bool = False
    is_cut: bool = False
    """The first bytes of the response are sent, and the connection is closed."""
    closes: bool = False
    """The connection is closed instead of a response."""
    has_tags: bool = False
    """Tagged fields that no release has are in the header and in each struct."""
    shift: int = 0
    """Added to the correlation id."""


class Script(Protocol):
    """Behavior of a cluster besides that of Kafka. Both methods are called with the cluster's lock."""

    def before(self, state: ClusterState, asked: Asked) -> Body | None:
        """Change the state before a request, or return the body of its response."""

    def after(self, state: ClusterState, asked: Asked, reply: Reply) -> Reply:
        """Return the response to send."""


def versions_of(release: str) -> dict[int, tuple[int, int]]:
    """Return the versions of a release of the APIs that the cluster speaks, by key."""
    found = {key: taken_range(key, release) for key in HANDLERS}
    return {key: taken for key, taken in found.items() if taken is not None}


class ScriptedCluster:
    """A running cluster. `asked` are all requests, in the order of their arrival."""

    def __init__(self, versions: Mapping[int, tuple[int, int]], script: Script, capture: RunCapture) -> None:
        self.changed = threading.Condition()
        self.asked: list[Asked] = []
        self.connections = 0
        self.problem = ""
        """The reason why the cluster takes no more requests."""
        self.fault: Exception | None = None
        """An error of the cluster itself, which says nothing about the client."""
        self.is_over = False
        self._script = script
        self._capture = capture
        self._bytes = 0
        self._wires: dict[socket.socket, int] = {}
        """Open connections, with their nodes."""
        self._threads: list[threading.Thread] = []
        self._listeners = {node: socket.create_server((HOST, 0)) for node in NODES}
        self.addresses = {node: Endpoint(HOST, one.getsockname()[1]) for node, one in self._listeners.items()}
        self.state = ClusterState(versions, self.addresses, self.changed, lambda: self.is_over)
        for node, listener in self._listeners.items():
            self._start(self._accept, node, listener)

    @property
    def bootstrap(self) -> str:
        """Addresses of all nodes, as clients read them."""
        return ",".join(map(str, self.addresses.values()))

    def stop(self) -> None:
        """Close all connections, and wait for the threads. A second call does nothing."""
        with self.changed:
            self.is_over = True
            self.changed.notify_all()
            wires = list(self._wires)
        for listener in self._listeners.values():
            _shut(listener)
        for wire in wires:
            _shut(wire)
        deadline = time.monotonic() + _JOIN_S
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        def guarded() -> None:
            try:
                work(*arguments)
            except Exception as error:
                with self.changed:
                    self.fault = self.fault or error
                    self._end("kdissect failed")

        thread = threading.Thread(target=guarded, name="kdissect-conform", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, node: int, listener: socket.socket) -> None:
        while True:
            try:
                wire, peer = listener.accept()
            except OSError:
                return
            with self.changed:
                self.connections += 1
                if self.connections > MAX_CONNECTIONS:
                    self._end(f"the client made more than {MAX_CONNECTIONS} connections")
                if self.is_over or self.problem:
                    wire.close()
                    continue
                self._wires[wire] = node
                _Served(self, node, wire, Endpoint(*peer), self._capture).begin(self._start)

    def _end(self, problem: str) -> None:
        self.problem = self.problem or problem
        for wire in self._wires:
            _shut(wire)
        self.changed.notify_all()

    def forget(self, wire: socket.socket) -> None:
        """Note the end of a connection."""
        with self.changed:
            self._wires.pop(wire, None)

    def close_lost(self) -> None:
        """Close the connections of nodes that do not speak any more, and accept no others."""
        with self.changed:
            for node in self.state.lost:
                _shut(self._listeners[node])
            for wire in [wire for wire, node in self._wires.items() if node in self.state.lost]:
                _shut(wire)

    def admits(self, size: int) -> bool:
        """Count bytes of a client. Returns whether more may come."""
        with self.changed:
            self._bytes += size
            if self._bytes > MAX_BYTES:
                self._end(f"the client sent more than {MAX_BYTES >> 20} MiB")
            return not self.problem

    def note(self, node: int, place: Place, content: bytes) -> Asked | None:
        """Add a request to those that arrived. Returns None for bytes that are none."""
        try:
            header = parse_request_header(content)
        except DecodeError:
            return None
        body = None
        is_known = self._is_advertised(header.api_key, header.api_version)
        with suppress(DecodeError):
            body = decode_request(content, size_prefixed=False).body if is_known else None
        with self.changed:
            asked = Asked(len(self.asked), node, place, header, body, time.monotonic())
            self.asked.append(asked)
            if len(self.asked) > MAX_REQUESTS:
                self._end(f"the client sent more than {MAX_REQUESTS} requests")
            self.changed.notify_all()
            return asked

    def _is_advertised(self, key: int, version: int) -> bool:
        low, high = self.state.versions.get(key, (0, -1))
        return low <= version <= high

    def reply_to(self, asked: Asked) -> Reply | None:
        """Return the response to a request, None to close the connection."""
        with self.changed:
            own = None if asked.body is None else self._script.before(self.state, asked)
            if own is not None:
                reply = Reply(own, asked.version)
            elif self._is_refused(asked):
                reply = Reply(admin_responses.refused_version(self.state), 0)
            elif asked.body is None:
                return None
            else:
                reply = Reply(HANDLERS[asked.key](self.state, asked), asked.version)
            reply = self._script.after(self.state, asked, reply)
            asked.reply = reply.body
            return reply

    def _is_refused(self, asked: Asked) -> bool:
        """Whether it is an ApiVersions request of another version. Kafka 0.9 does not have the API."""
        has_api = API_VERSIONS in self.state.versions
        return asked.key == API_VERSIONS and has_api and not self._is_advertised(asked.key, asked.version)

    def sent(self, asked: Asked) -> None:
        """Note that the response to a request is sent now."""
        with self.changed:
            asked.replied_at = time.monotonic()
            self.changed.notify_all()


def _shut(wire: socket.socket) -> None:
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        wire.close()


class _Served:
    """One connection: a thread reads requests, another responds to them one by one, as brokers do."""

    def __init__(
        self,
        cluster: ScriptedCluster,
        node: int,
        wire: socket.socket,
        client: Endpoint,
        capture: RunCapture,
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._wire = wire
        self._ports = client.port, cluster.addresses[node].port
        self._record: RecordedConnection = capture.connection(client, cluster.addresses[node])
        self._is_closed_here = self._has_ended = False
        self._asked: Queue[Asked | None] = Queue(_WAITING)

    def begin(self, start: Callable[..., None]) -> None:
        """Start both threads."""
        start(self._read)
        start(self._respond)

    def _read(self) -> None:
        data = bytearray()
        ordinal = 0
        while (more := self._received()) and self._cluster.admits(len(more)):
            data += more
            while (content := _cut_frame(data)) is not None:
                asked = self._cluster.note(self._node, Place(*self._ports, ordinal), content)
                if asked is None:
                    data.clear()
                    self._close()
                    break
                ordinal += 1
                self._asked.put(asked)
            if not _may_be_frame(data):
                break
        with self._cluster.changed:
            self._has_ended = True
            self._cluster.changed.notify_all()
        self._asked.put(None)

    def _received(self) -> bytes:
        try:
            more = self._wire.recv(_CHUNK)
        except OSError:
            return b""
        if more:
            self._record.sent(more)
        return more

    def _respond(self) -> None:
        self._respond_to_all()
        by_client = self._has_ended and not self._is_closed_here and not self._cluster.is_over
        self._record.closed(by_broker=not by_client)
        self._close()
        self._cluster.forget(self._wire)

    def _respond_to_all(self) -> None:
        while (asked := self._asked.get()) is not None:
            reply = self._cluster.reply_to(asked)
            try:
                is_open = reply is not None and self._send(asked, reply)
            except (OSError, ValueError):  # ValueError: a value of the client that has no bytes here
                is_open = False
            if not is_open:
                self._close()
                while self._asked.get() is not None:  # the reader may wait for space
                    continue
                return
            throttle = (asked.reply or {}).get("throttle_time_ms", 0)
            self._pause(throttle / 1000)  # muted, as brokers do (KIP-219)

    def _send(self, asked: Asked, reply: Reply) -> bool:
        """Send a response. Returns whether the connection stays open."""
        self._pause(reply.delay_s)
        if reply.closes:
            self._cluster.sent(asked)
            self._cluster.close_lost()
            return False
        if reply.body is None:
            return True
        data = _encoded(asked, reply)
        if reply.is_cut:
            data = data[:_CUT_AT]
        self._cluster.sent(asked)  # before: the client may be faster than this thread
        for piece in _pieces(data) if reply.in_pieces else (data,):
            self._record.received(piece)
            self._wire.sendall(piece)
            if reply.in_pieces:
                self._pause(_PAUSE_S)
        return not reply.is_cut

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._cluster.changed:
            while (
                not self._cluster.is_over
                and not self._has_ended
                and (left := deadline - time.monotonic()) > 0
            ):
                self._cluster.changed.wait(left)

    def _close(self) -> None:
        self._is_closed_here = True
        _shut(self._wire)


def _cut_frame(data: bytearray) -> bytes | None:
    """Return the content of the first whole frame, and remove the frame."""
    if len(data) < _SIZE or not _may_be_frame(data):
        return None
    (size,) = struct.unpack_from(">i", data)
    if len(data) < _SIZE + size:
        return None
    content = bytes(data[_SIZE : _SIZE + size])
    del data[: _SIZE + size]
    return content


def _may_be_frame(data: bytearray) -> bool:
    return len(data) < _SIZE or 0 < struct.unpack_from(">i", data)[0] <= MAX_FRAME


def _encoded(asked: Asked, reply: Reply) -> bytes:
    message = protocol_messages.response_message(asked.key)
    assert message is not None
    body: Body = reply.body or {}
    header: Body = {"correlation_id": asked.header.correlation_id + reply.shift}
    if reply.has_tags:
        body = _tagged(body)
        header["_tags"] = UNKNOWN_TAGS
    header_message = protocol_messages.header_message(RESPONSE)
    head = encode(header_message, response_header_version(asked.key, reply.version), header)
    return framed(head + encode(message, reply.version, body))


def _tagged(value: Any) -> Any:
    """Return a body with unknown tagged fields in each struct."""
    if isinstance(value, dict):
        return {name: _tagged(item) for name, item in value.items()} | {"_tags": UNKNOWN_TAGS}
    return [_tagged(item) for item in value] if isinstance(value, list) else value


def _pieces(data: bytes) -> list[bytes]:
    """Return a response in pieces: its size, its header and its body are cut."""
    cuts = [0, 1, _PIECE, 2 * _PIECE, max(len(data) // 2, 2 * _PIECE), len(data)]
    return [data[start:end] for start, end in pairwise(cuts) if data[start:end]]
