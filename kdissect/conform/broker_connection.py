"""Connections of the suite to a broker: requests out, responses in, each within a time.

A broker that hangs, closes, floods or sends garbage is an outcome of the request. It raises nothing.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.broker_loggers.client_properties import Settings
from kdissect.conform.run_capture import RunCapture
from kdissect.conform.statement_results import Place
from kdissect.decoders.encoder import encode
from kdissect.decoders.headers import request_header_version
from kdissect.decoders.messages import decode_response
from kdissect.model.endpoint import Endpoint
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages

CLIENT_ID = "kdissect-conform"
MAX_FRAME = 16 << 20
"""Bytes that kdissect reads while it waits for one response."""
MAX_RUN = 256 << 20
"""Bytes of responses in a whole run."""
TLS_ALERT = "a TLS alert"
CLOSED = "the broker closed the connection"
_TLS_ALERT = b"\x15\x03"  # record type and major version (RFC 8446 5.1)
_SIZE = 4
_CHUNK = 65_536
_HANDSHAKE, _AUTHENTICATE = 17, 36
Body = Mapping[str, Any]


class Outcome(StrEnum):
    """Result of a request."""

    ANSWERED = "answered"
    UNDECODABLE = "undecodable"  # a response that does not have the layout of its version
    CLOSED = "closed"
    SILENT = "silent"
    GARBAGE = "garbage"  # bytes that are no frame, or too many
    SENT = "sent"  # the request asks for no response


class Response(NamedTuple):
    """A request and its result. `body` is None without a decoded response."""

    api_key: int
    version: int
    outcome: Outcome
    place: Place
    body: Any = None
    detail: str = ""
    body_version: int = 0

    @property
    def is_answered(self) -> bool:
        """Whether the body of the response is decoded."""
        return self.outcome is Outcome.ANSWERED

    @property
    def text(self) -> str:
        """The result in words."""
        return {
            Outcome.ANSWERED: "a response",
            Outcome.UNDECODABLE: f"a response that does not decode: {self.detail}",
            Outcome.CLOSED: CLOSED,
            Outcome.SILENT: f"no response{self.detail}",
            Outcome.GARBAGE: f"bytes that are no response: {self.detail}",
            Outcome.SENT: "no response, as requested",
        }[self.outcome]


class LoginError(Exception):
    """No connection can be made. The message is the reason, without credentials."""


class Dialer:
    """Opens connections, with TLS and SASL as the settings of a client say."""

    def __init__(self, settings: Settings, timeout: float, capture: RunCapture) -> None:
        self._settings = settings
        self._capture = capture
        self.timeout = timeout
        self.received = 0

    @property
    def logs_in(self) -> bool:
        """Whether connections log in with SASL."""
        return "sasl_mechanism" in self._settings

    def connect(self, address: Endpoint) -> Connection:
        """Return a connection after TLS and SASL. Raises LoginError."""
        try:
            plain = socket.create_connection((address.host, address.port), self.timeout)
        except (OSError, UnicodeError) as error:  # UnicodeError: a host that is no name of DNS
            raise LoginError(f"{address}: {getattr(error, 'strerror', None) or error}") from None
        try:
            wire = self._encrypted(plain, address.host)
            connection = Connection(self, wire, self._capture)
        except (OSError, ValueError) as error:
            plain.close()
            raise LoginError(f"{address}: {error}; is it the right security.protocol?") from None
        if self.logs_in:
            self._login(connection, address)
        return connection

    def _encrypted(self, plain: socket.socket, host: str) -> socket.socket:
        settings = self._settings
        if not str(settings.get("security_protocol", "")).endswith("SSL"):
            return plain
        context = ssl.create_default_context(cafile=_text(settings.get("ssl_cafile")))
        context.check_hostname = bool(settings.get("ssl_check_hostname", True))
        certificate = _text(settings.get("ssl_certfile"))
        if certificate:
            context.load_cert_chain(
                certificate, _text(settings.get("ssl_keyfile")), _text(settings.get("ssl_password"))
            )
        return context.wrap_socket(plain, server_hostname=host)

    def _login(self, connection: Connection, address: Endpoint) -> None:
        """Log in with the mechanisms of kafka-python (RFC 4616, RFC 5802)."""
        from kafka.net.sasl import get_sasl_mechanism  # an extra

        name = str(self._settings["sasl_mechanism"])
        mechanism = get_sasl_mechanism(name)(**self._settings)
        first = connection.ask(_HANDSHAKE, 1, {"mechanism": name})
        if not first.is_answered or first.body.error_code:
            connection.close()
            raise LoginError(f"{address}: SaslHandshake for {name}: {_refusal(first)}")
        while not mechanism.is_done():
            step = connection.ask(_AUTHENTICATE, 0, {"auth_bytes": mechanism.auth_bytes()})
            if not step.is_answered or step.body.error_code:
                connection.close()
                raise LoginError(f"{address}: SaslAuthenticate: {_refusal(step)}")
            try:
                mechanism.receive(bytes(step.body.auth_bytes))
            except (ValueError, KeyError) as error:
                connection.close()
                raise LoginError(f"{address}: SaslAuthenticate: {type(error).__name__}") from None


def _text(value: str | int | bool | None) -> str | None:
    return str(value) if value else None


def _refusal(response: Response) -> str:
    if not response.is_answered:
        return response.text
    return f"error code {response.body.error_code}"


class Connection:
    """One connection. It cannot be used after an outcome without a response: see `is_open`."""

    def __init__(self, dialer: Dialer, wire: socket.socket, capture: RunCapture) -> None:
        self._dialer = dialer
        self._wire = wire
        client, broker = wire.getsockname(), wire.getpeername()
        self._ports: tuple[int, int] = (client[1], broker[1])
        self._record = capture.connection(Endpoint(client[0], client[1]), Endpoint(broker[0], broker[1]))
        self._requests = 0
        self._read = b""
        self.is_open = True
        self.unasked: list[int] = []
        """Correlation ids of responses that came while another one was waited for."""

    def close(self, *, by_broker: bool = False) -> None:
        """End the connection. A second call does nothing."""
        if self.is_open:
            self.is_open = False
            self._record.closed(by_broker=by_broker)
            self._wire.close()

    def ask(
        self,
        api_key: int,
        version: int,
        body: Body,
        *,
        client_id: str | None = CLIENT_ID,
        tags: Mapping[int, bytes] | None = None,
        waits: bool = True,
    ) -> Response:
        """Send a request, and wait for its response. `tags` are tagged fields of the header. Without `waits`
        the request is one that has no response.

        Raises ValueError for a body that has no bytes in this version.
        """
        message = protocol_messages.request_message(api_key)
        assert message is not None
        header = request_header(api_key, version, self._requests, client_id, tags or {})
        return self.send(framed(header + encode(message, version, body)), api_key, version, waits=waits)

    def send(self, data: bytes, api_key: int, version: int, *, waits: bool = True) -> Response:
        """Send a request as bytes, size included. Its correlation id has to be the number of the request."""
        ordinal, self._requests = self._requests, self._requests + 1
        deadline = time.monotonic() + self._dialer.timeout
        place = Place(*self._ports, ordinal)
        self._record.sent(data)
        try:
            self._wire.settimeout(self._dialer.timeout)
            self._wire.sendall(data)
        except OSError:
            self.close(by_broker=True)
            return Response(api_key, version, Outcome.CLOSED, place)
        if not waits:
            return Response(api_key, version, Outcome.SENT, place)
        content = self._response(ordinal, deadline)
        if isinstance(content, bytes):
            return _decoded(content, api_key, version, place)
        outcome, detail = content
        self.close(by_broker=outcome is Outcome.CLOSED)
        return Response(api_key, version, outcome, place, detail=detail)

    @property
    def next_id(self) -> int:
        """The correlation id of the next request."""
        return self._requests

    def _response(self, ordinal: int, deadline: float) -> bytes | tuple[Outcome, str]:
        """Return the content of the response with this correlation id, or why there is none.

        Responses with other ids are `unasked`.
        """
        left = MAX_FRAME
        while True:
            head = self._exactly(_SIZE, deadline)
            if not isinstance(head, bytes):
                return head
            (size,) = struct.unpack(">i", head)
            if head.startswith(_TLS_ALERT):
                return Outcome.GARBAGE, TLS_ALERT
            left -= size + _SIZE
            if size < _SIZE or left < 0 or self._dialer.received > MAX_RUN:
                return Outcome.GARBAGE, f"a frame of {plural(size, 'byte')} ({head.hex(' ')})"
            content = self._exactly(size, deadline)
            if not isinstance(content, bytes):
                return content
            (correlation_id,) = struct.unpack_from(">i", content)
            if correlation_id == ordinal:
                return content
            self.unasked.append(correlation_id)

    def _exactly(self, count: int, deadline: float) -> bytes | tuple[Outcome, str]:
        parts = [self._read]
        have = len(self._read)
        while have < count:
            wait = deadline - time.monotonic()
            try:
                if wait <= 0:
                    raise TimeoutError
                self._wire.settimeout(wait)
                more = self._wire.recv(_CHUNK)
            except TimeoutError:
                return Outcome.SILENT, f" within {self._dialer.timeout:g} s"
            except OSError:
                more = b""
            if not more:
                return Outcome.CLOSED, ""
            self._record.received(more)
            self._dialer.received += len(more)
            parts.append(more)
            have += len(more)
        data = b"".join(parts)
        self._read = data[count:]
        return data[:count]


def framed(content: bytes) -> bytes:
    """Return a frame: its size, then its content."""
    return struct.pack(">i", len(content)) + content


def request_header(
    api_key: int, version: int, correlation_id: int, client_id: str | None, tags: Mapping[int, bytes]
) -> bytes:
    """Return the header of a request, with tagged fields if the version has them."""
    values = {
        "request_api_key": api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
        "_tags": tags,
    }
    return encode(
        protocol_messages.header_message("RequestHeader"), request_header_version(api_key, version), values
    )


def _decoded(content: bytes, api_key: int, version: int, place: Place) -> Response:
    try:
        found = decode_response(content, api_key, version, size_prefixed=False)
    except DecodeError as error:
        return Response(api_key, version, Outcome.UNDECODABLE, place, detail=str(error))
    return Response(api_key, version, Outcome.ANSWERED, place, found.body, body_version=found.version)
