"""What the compiled filler of lines (`native.LineFiller`) reads of an exchange."""

from typing import Any

from kdissect.cli.formats.line_parts import texts_of
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

_KAFKA, _COMPLETE, _SILENT = ExchangeKind.KAFKA, State.COMPLETE, State.NO_RESPONSE_EXPECTED


def known_texts(connection: ConnectionInfo) -> tuple[bytes, bytes]:
    """Id and ends of a connection."""
    return connection.line_texts or texts_of(connection)


def fields_of(exchange: Exchange) -> tuple[Any, ...] | None:
    """What the compiled filler needs to know of an exchange; None for one that cannot fill a template.

    To read slots one by one costs Python a tenth of what it costs others.
    """
    # Hot, once an exchange.
    request, response, state = exchange.request, exchange.response, exchange.state
    if (
        request is None
        or request.anomalies or exchange.anomalies or exchange.close
        or exchange.kind is not _KAFKA
    ):  # fmt: skip
        return None
    if response is None:
        return None if state is not _SILENT else (
            exchange.connection.line_texts or texts_of(exchange.connection), exchange.client_id,
            exchange.request_summary_cache,
            exchange.api_key, exchange.api_version, exchange.ordinal, exchange.correlation_id,
            request.data, exchange.request_body_offset, request.size,
            request.first_ref, request.last_ref, request.time_ns, request.end_time_ns,
        )  # fmt: skip
    if state is not _COMPLETE or response.anomalies:
        return None
    return (
        exchange.connection.line_texts or texts_of(exchange.connection), exchange.client_id,
        exchange.request_summary_cache,
        exchange.api_key, exchange.api_version, exchange.ordinal, exchange.correlation_id,
        request.data, exchange.request_body_offset, request.size,
        request.first_ref, request.last_ref, request.time_ns, request.end_time_ns,
        response.data, exchange.response_body_offset, response.size,
        response.first_ref, response.last_ref, response.time_ns, response.end_time_ns,
    )  # fmt: skip
