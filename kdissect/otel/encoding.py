"""Spans as OTLP: lines of JSON, and protobuf for files and collectors.

Sources: OpenTelemetry Protocol Specification 1.9.0, "JSON Protobuf Encoding"; OpenTelemetry Protocol File
Exporter, "JSON File serialization".
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from kdissect.otel.collector import TRACES, post

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


def send(url: str, spans: Sequence[ReadableSpan]) -> None:
    """Send spans to a collector. Raises HttpFailureError, also if it rejects some of them."""
    post(url, TRACES, protobuf(spans))


def _with_hex_ids(span: dict[str, Any]) -> None:
    """Write ids in hex: OTLP deviates from the JSON of protobuf, which has base64."""
    for name in _IDS:
        if name in span:
            span[name] = b64decode(span[name]).hex()
