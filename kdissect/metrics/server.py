"""Serves metrics by HTTP at `[HOST]:PORT`: the official client library's server, a registry of our own."""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from kdissect.metrics.snapshot import Snapshot
from kdissect.model.extras import how_to_install

_LOOPBACK = "127.0.0.1"  # there is no password: who wants others to read it has to say so


class Address(NamedTuple):
    """A host, by name or number, and a TCP port; port 0 is any that is free."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """What a scraper asks for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"


def parse_address(text: str) -> Address:
    """`9464`, `:9464`, `127.0.0.1:9464`, `[::1]:9464`. Raises ValueError (one line)."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} is no [HOST]:PORT; an IPv6 address stands in brackets: [{host}]:{port}")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is no [HOST]:PORT")
    return Address(host or _LOOPBACK, int(port))


class MetricsError(Exception):
    """No library, no such address, a port in use; the text is the one line to show."""


INSTALL = f"metrics need the package prometheus_client: {how_to_install('metrics')}"


class MetricsServer:
    """Serves from its creation to `close`, in threads of its own. `address` has the port found for 0.

    Raises MetricsError.
    """

    def __init__(self, address: Address, snapshot: Callable[[], Snapshot]) -> None:
        try:
            # at first use: an optional package
            from prometheus_client import CollectorRegistry, start_http_server
            from prometheus_client.process_collector import ProcessCollector

            from kdissect.metrics.collector import SnapshotCollector
        except ImportError:
            raise MetricsError(INSTALL) from None
        registry = CollectorRegistry()
        registry.register(SnapshotCollector(snapshot))
        ProcessCollector(registry=registry)  # CPU and memory of kdissect itself
        try:
            self._server, self._thread = start_http_server(address.port, address.host, registry)
        except OSError as error:
            raise MetricsError(_why(address, error)) from None
        self.address = address._replace(port=self._server.server_port)

    def close(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _why(address: Address, error: OSError) -> str:
    host_port = f"{address.host}:{address.port}"
    if error.errno == errno.EADDRINUSE:
        return f"metrics cannot be served at {host_port}: the port is in use; name another with --metrics"
    return f"metrics cannot be served at {host_port}: {error.strerror or error}"
