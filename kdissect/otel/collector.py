"""Requests to a collector over OTLP/HTTP.

Source: OpenTelemetry Protocol Specification 1.9.0, "OTLP/HTTP Request" and "Partial Success".
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.request import Request

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from kdissect.model.version import __version__
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.serdes.http_exchange import HttpFailureError, checked_url, exchange

_RESPONSE_BYTES, _REASON, _OK = 64 << 10, 200, 200
_TIMEOUT_S = 10.0  # OpenTelemetry Protocol Exporter specification: OTEL_EXPORTER_OTLP_TIMEOUT


class Signal(NamedTuple):
    """A kind of telemetry: its path, the response of collectors, and the field of what they reject."""

    path: str
    response: Any
    rejected: str
    noun: str


TRACES = Signal("/v1/traces", ExportTraceServiceResponse, "rejected_spans", "span")
METRICS = Signal("/v1/metrics", ExportMetricsServiceResponse, "rejected_data_points", "data point")


def signal_url(endpoint: str, signal: Signal, owner: str) -> str:
    """Return the URL for a signal of a collector's base URL. Raises ValueError, without the URL.

    `owner` names the URL in messages.
    """
    parts = checked_url(endpoint, owner)
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(signal.path) else path + signal.path).geturl()


def post(url: str, signal: Signal, message: bytes) -> None:
    """Send a message of OTLP. Raises HttpFailureError, also if the collector rejects some of it."""
    headers = {"Content-Type": "application/x-protobuf", "User-Agent": f"kdissect/{__version__}"}
    body = exchange(Request(url, message, headers, method="POST"), _TIMEOUT_S, _RESPONSE_BYTES)
    try:
        partial = signal.response.FromString(body).partial_success
    except DecodeError:  # of a collector that responds with something else
        return
    rejected = getattr(partial, signal.rejected)
    if rejected:
        why = printable(partial.error_message[:_REASON])
        count = plural(rejected, signal.noun)
        raise HttpFailureError(f"the collector rejected {count}{f': {why}' if why else ''}", _OK)
