"""Spans of exchanges: one of the client, and one of the broker below it.

The client's span begins with the first byte of the request and ends with the last byte of the response. The
broker's span begins with the last byte of the request and ends with the first byte of the response: its
duration is the latency. Attributes are those of the semantic conventions for messaging and Kafka, version
1.36.0, and `kdissect.*` for facts without an attribute there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from kdissect.engine.listed_rows import ListedRows
from kdissect.history import api_keys as apis
from kdissect.model.digest import blake2b
from kdissect.model.endpoint import Endpoint
from kdissect.model.version import __version__
from kdissect.otel.trace_contexts import RecordContexts
from kdissect.session.exchange import Exchange, State

SCHEMA_URL = "https://opentelemetry.io/schemas/1.36.0"
Row = dict[str, Any]
_SCOPE = InstrumentationScope("kdissect", __version__, SCHEMA_URL)
_BROKERS = "kafka"  # service.name of brokers, which do not name themselves
_UNKNOWN = "unknown_service"  # OpenTelemetry resource conventions: service.name without a name
# messaging.operation.type, semantic conventions for messaging spans, "Operation types".
_OPERATIONS = {apis.PRODUCE: "send", apis.FETCH: "receive", apis.SHARE_FETCH: "receive"}
_TRACE_BYTES, _SPAN_BYTES = 16, 8  # W3C Trace Context, sections 3.2.2.3 and 3.2.2.4
_RESOURCES = 10_000


class Spans:
    """Makes the spans of exchanges. `rows` are those of `inspect`, so that both contain the same values."""

    def __init__(self, rows: ListedRows) -> None:
        self._rows = rows
        self.without_request = 0
        """Exchanges without a captured request, which have no begin and no span."""

    def of(self, exchange: Exchange) -> Iterator[ReadableSpan]:
        """Yield the spans of the next exchange."""
        row = self._rows.row(exchange)
        request, response = row["request"], row["response"]
        if request is None:
            self.without_request += 1
            return
        contexts = RecordContexts(exchange)
        parent = contexts.only
        identity = f"{row['connection']}/{row['exchange']}"
        trace_id = _id(identity, _TRACE_BYTES) if parent is None else parent.trace_id
        client = _context(trace_id, identity)
        name, attributes = _name(row), _attributes(row, contexts)
        links = [Link(context) for context in contexts.found] if parent is None else []
        end_ns = request["end_time_ns"] if response is None else response["end_time_ns"]
        info = exchange.connection
        yield ReadableSpan(
            name,
            client,
            parent,
            _resource(row["client_id"] or _UNKNOWN, info.client),
            attributes | _end("network.peer", info.broker) | _end("server", info.broker),
            links=links,
            kind=SpanKind.CLIENT,
            status=_status(row),
            start_time=request["time_ns"],
            end_time=max(end_ns, request["time_ns"]),  # a merge of two clocks may go back
            instrumentation_scope=_SCOPE,
        )
        if row["latency_ns"] is None:
            return
        begin_ns = request["end_time_ns"]
        yield ReadableSpan(
            name,
            _context(trace_id, f"{identity} broker"),
            client,
            _resource(_BROKERS, info.broker),
            attributes | _end("network.peer", info.client) | _end("client", info.client),
            kind=SpanKind.SERVER,
            status=_status(row),
            start_time=begin_ns,
            end_time=max(response["time_ns"], begin_ns),
            instrumentation_scope=_SCOPE,
        )


def _id(text: str, size: int) -> int:
    """Return an id that is equal in every run, and not 0."""
    return int.from_bytes(blake2b(text.encode(), digest_size=size).digest()) or 1


def _context(trace_id: int, identity: str) -> SpanContext:
    return SpanContext(
        trace_id, _id(identity, _SPAN_BYTES), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def _name(row: Row) -> str:
    """Return `Produce orders`: operation and destination, or the API alone.

    Source: semantic conventions for messaging spans, "Span name".
    """
    api = row["api"] or (f"API {row['api_key']}" if row["api_key"] is not None else row["kind"])
    is_messaging, topics = row["api_key"] in _OPERATIONS, row["topics"]
    return f"{api} {topics[0]}" if is_messaging and len(topics) == 1 else api


def _attributes(row: Row, contexts: RecordContexts) -> dict[str, Any]:
    """Return the attributes that both spans have in common, without those that are not known."""
    errors, topics, groups = row["errors"], row["topics"], row["group"]
    operation = _OPERATIONS.get(row["api_key"])
    found = {
        "messaging.system": "kafka",
        "messaging.client.id": row["client_id"],
        "messaging.operation.name": None if operation is None else row["api"],
        "messaging.operation.type": operation,
        "messaging.destination.name": topics[0] if len(topics) == 1 else None,
        "messaging.consumer.group.name": groups[0] if len(groups) == 1 else None,
        "messaging.batch.message_count": None if operation is None else contexts.records,
        "network.transport": "tcp",
        "error.type": _error(row),
        "user.name": row["principal"],
        "kdissect.connection": row["connection"],
        "kdissect.exchange": row["exchange"],
        "kdissect.api_key": row["api_key"],
        "kdissect.api": row["api"],
        "kdissect.api_version": row["api_version"],
        "kdissect.correlation_id": row["correlation_id"],
        "kdissect.software": row["software"],
        "kdissect.state": row["state"],
        "kdissect.request.bytes": row["request"]["bytes"],
        "kdissect.response.bytes": None if row["response"] is None else row["response"]["bytes"],
        "kdissect.throttle_ms": row["throttle"],
        "kdissect.errors": errors or None,
        "kdissect.topics": topics or None,
        "kdissect.groups": groups or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _error(row: Row) -> str | None:
    """Return the error for `error.type`: the first error code, or the state of a missing response."""
    if row["errors"]:
        return str(row["errors"][0])
    return row["state"] if row["state"] in (State.UNANSWERED, State.INCOMPLETE) else None


def _status(row: Row) -> Status:
    error = _error(row)
    return Status(StatusCode.UNSET) if error is None else Status(StatusCode.ERROR, error)


def _end(name: str, end: Endpoint) -> dict[str, Any]:
    return {f"{name}.address": end.host, f"{name}.port": end.port}


@cache
def _scope_resource(service: str, instance: str) -> Resource:
    return Resource(
        {"service.name": service, "service.instance.id": instance},
        SCHEMA_URL,
    )


def _resource(service: str, end: Endpoint) -> Resource:
    """Return who did the work: a client by its id and host, a broker by its address."""
    instance = str(end) if service == _BROKERS else end.host
    if _scope_resource.cache_info().currsize > _RESOURCES:
        _scope_resource.cache_clear()
    return _scope_resource(service, instance)
