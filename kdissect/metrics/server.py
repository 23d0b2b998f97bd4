"""Serves metrics by HTTP, by the official client library's server, from a registry of our own."""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import TracebackType

from kdissect.metrics.address import Address
from kdissect.metrics.errors import MetricsError
from kdissect.metrics.snapshot import Snapshot
from kdissect.model.extras import how_to_install

INSTALL = f"metrics need the package prometheus_client: {how_to_install('metrics')}"


class MetricsServer:
    """Serves from its creation to `close`, in threads of its own. `address` has the port found for 0.

    Raises MetricsError.
    """

    def __init__(self, address: Address, snapshot: Callable[[], Snapshot]) -> None:
        try:
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
    place = f"{address.host}:{address.port}"
    if error.errno == errno.EADDRINUSE:
        return f"metrics cannot be served at {place}: the port is in use; name another with --metrics"
    return f"metrics cannot be served at {place}: {error.strerror or error}"
