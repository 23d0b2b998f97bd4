"""The HTTP server of metrics: a thread for each connection, with a bound of their number and their time."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from kdissect.metrics.scrape_guard import LOCAL

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication, WSGIEnvironment

# A Prometheus or two, and people who look.
MAX_CONNECTIONS = 16
# From the connection to the last byte of the answer. Prometheus stops waiting after 10 s by default.
EXCHANGE_S = 30.0


class Listener(ThreadingMixIn, WSGIServer):
    """Listens from its creation on. Raises OSError for an address that it cannot have."""

    daemon_threads = True

    def __init__(self, host: str, port: int, application: WSGIApplication) -> None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family, _, _, _, address = found[0]
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((str(address[0]), port), _Handler)
        self.set_app(application)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a connection, or close it at once if there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and end the connection when its time is over."""
        end = threading.Timer(EXCHANGE_S, _end, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a fault. A client that leaves is no fault."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(WSGIRequestHandler):
    def get_environ(self) -> WSGIEnvironment:
        return super().get_environ() | {LOCAL: self.connection.getsockname()[0]}

    def log_message(self, *_: object) -> None:
        """Log no requests: the standard error is that of a command."""


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
