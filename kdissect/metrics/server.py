"""Serves metrics by HTTP at `[HOST]:PORT`: a registry of our own, as the official library writes it."""

from __future__ import annotations

import errno
import threading
from types import TracebackType
from typing import NamedTuple

from kdissect.metrics.catalogue import Exposed
from kdissect.metrics.listener import Listener
from kdissect.metrics.scrape_guard import ScrapeGuard
from kdissect.model.extras import how_to_install
from kdissect.model.http_access import LOOPBACK, authority


class Address(NamedTuple):
    """A host, by name or number, and a TCP port. Port 0 means any free port."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of a scrape."""
        return f"http://{authority(self.host, self.port)}/metrics"


def parse_address(text: str) -> Address:
    """Parse `9464`, `:9464`, `127.0.0.1:9464` or `[::1]:9464`. Raises ValueError (one line)."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} is no [HOST]:PORT: an IPv6 address requires brackets: [{host}]:{port}")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is no [HOST]:PORT")
    return Address(host or LOOPBACK, int(port))


class MetricsError(Exception):
    """Failure of the server: no library, no such address, a port in use. The text is the one line to show."""


INSTALL = f"metrics need the package prometheus_client: {how_to_install('metrics')}"


class MetricsServer:
    """Server that serves metrics from its creation to `close`, in threads of its own. `address` has the port
    found for 0.

    A scraper needs the `token`. None: everybody may scrape. Raises MetricsError.
    """

    def __init__(self, address: Address, exposed: Exposed, token: str | None) -> None:
        try:
            # at first use: an optional package
            from prometheus_client import CollectorRegistry, make_wsgi_app
            from prometheus_client.process_collector import ProcessCollector

            from kdissect.metrics.collector import MetricCollector
        except ImportError:
            raise MetricsError(INSTALL) from None
        registry = CollectorRegistry()
        registry.register(MetricCollector(exposed))
        ProcessCollector(registry=registry)  # CPU and memory of kdissect itself
        try:
            guard = ScrapeGuard(make_wsgi_app(registry), address.host, token)
            self._server = Listener(address.host, address.port, guard)
        except OSError as error:
            raise MetricsError(_why(address, error)) from None
        self.address = address._replace(port=self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

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
    host_port = authority(address.host, address.port)
    if error.errno == errno.EADDRINUSE:
        return (
            f"metrics cannot be served at {host_port}: the port is in use. Choose a free port with --metrics"
        )
    return f"metrics cannot be served at {host_port}: {error.strerror or error}"
