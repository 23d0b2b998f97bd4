"""Spans as OTLP: lines of JSON, protobuf, and requests to a collector.

Sources: OpenTelemetry Protocol Specification 1.9.0, "JSON Protobuf Encoding" and "OTLP/HTTP Request";
OpenTelemetry Protocol File Exporter, "JSON File serialization".
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any
from urllib.request import Request

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan

from kdissect.model.version import __version__
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.serdes.http_exchange import HttpFailureError, checked_url, exchange

TRACES_PATH = "/v1/traces"
_TIMEOUT_S = 30.0
_RESPONSE_BYTES, _REASON, _OK = 64 << 10, 200, 200
_IDS = ("traceId", "spanId", "parentSpanId")


def json_line(spans: Sequence[ReadableSpan]) -> bytes:
    """Return a line with all spans: a TracesData object."""
    found = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for of_resource in found["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                _with_hex_ids(span)
                for link in span.get("links", ()):
                    _with_hex_ids(link)
    return json.dumps(found, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def protobuf(spans: Sequence[ReadableSpan]) -> bytes:
    """Return a TracesData message. Several, one after the other, are one message with all their spans."""
    return bytes(encode_spans(spans).SerializeToString())


def traces_url(endpoint: str) -> str:
    """Return the URL for traces of a collector's base URL. Raises ValueError, without the URL."""
    parts = checked_url(endpoint, "--endpoint")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(TRACES_PATH) else path + TRACES_PATH).geturl()


def send(url: str, spans: Sequence[ReadableSpan]) -> None:
    """Send spans to a collector. Raises HttpFailureError, also if it rejects some of them."""
    headers = {"Content-Type": "application/x-protobuf", "User-Agent": f"kdissect/{__version__}"}
    body = exchange(Request(url, protobuf(spans), headers, method="POST"), _TIMEOUT_S, _RESPONSE_BYTES)
    try:
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:  # of a collector that responds with something else
        return
    if partial.rejected_spans:
        why = printable(partial.error_message[:_REASON])
        count = plural(partial.rejected_spans, "span")
        raise HttpFailureError(f"the collector rejected {count}{f': {why}' if why else ''}", _OK)


def _with_hex_ids(span: dict[str, Any]) -> None:
    """Write ids in hex: OTLP deviates from the JSON of protobuf, which has base64."""
    for name in _IDS:
        if name in span:
            span[name] = b64decode(span[name]).hex()
