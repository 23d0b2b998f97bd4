"""Bodies of an exchange decoded for output."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.decoders.as_json.json_bodies import json_reader, request_to_jsonable, response_to_jsonable
from kdissect.decoders.generated.compiled import Decoder
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.model.wording import plural
from kdissect.session.exchange import Exchange, ExchangeKind

if TYPE_CHECKING:
    from kdissect.decoders.trees.tree_decoder import Part


NOT_LOGGED = "not in the request log, or in a form that is not known"


class DecodedBody(NamedTuple):
    """A body as plain JSON values.

    With an `error` it is the part up to where it was cut, or does not fit. None for nothing.
    """

    body: Any
    error: str | None
    anomalies: tuple[Anomaly, ...] = ()


def body_of(exchange: Exchange, side: str, show_secrets: bool) -> DecodedBody:
    """Return the body of one side (`request` or `response`) as plain JSON values. Raises nothing.

    A body that was cut or does not fit has an `error`. Bytes after a body that fits are an anomaly, and so
    are payloads that do not fit.
    """
    frame = exchange.request if side == "request" else exchange.response
    if frame is None:
        return DecodedBody(None, None)
    if frame.logged is not None and not frame.is_cut:
        from kdissect.engine.records.logged_sizes import with_logged_sizes  # start-up: of request logs alone

        decoded = _decoded(exchange, side, frame, show_secrets)
        return decoded._replace(body=with_logged_sizes(exchange, side != "request", decoded.body))
    return _decoded(exchange, side, frame, show_secrets)


def _decoded(exchange: Exchange, side: str, frame: Frame, show_secrets: bool) -> DecodedBody:
    key, version = exchange.api_key, exchange.api_version
    if frame.is_cut and (key is not None or exchange.kind is ExchangeKind.SASL_TOKEN):
        return _cut_body(exchange, frame, side, show_secrets)
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return _token(exchange, frame, side, show_secrets)
    if key is None or version is None:
        return DecodedBody(None, None)
    is_response = side != "request"
    offset = exchange.response_body_offset if is_response else exchange.request_body_offset
    is_plain = show_secrets or not exchange.is_near_secrets
    read = json_reader(key, version, is_response, show_secrets) if is_plain else None
    quick = _whole_body(frame.data, offset, read)
    if quick is not None:
        return DecodedBody(quick, None)
    to_jsonable = response_to_jsonable if is_response else request_to_jsonable
    try:
        found = to_jsonable(frame.data, offset, key, version, show_secrets, _facts()(exchange, side))
    except DecodeError as error:
        if exchange.is_unknown:
            return DecodedBody(None, str(error))  # the exchange says so already
        part, _ = _part(exchange, side, show_secrets)
        return DecodedBody(part, str(error), (_anomaly(AnomalyKind.MALFORMED_BODY, str(error), frame),))
    if not found.problems and found.end >= len(frame.data):
        return DecodedBody(found.body, None)
    anomalies = [_anomaly(AnomalyKind.MALFORMED_PAYLOAD, problem, frame) for problem in found.problems]
    if found.end < len(frame.data):
        detail = f"{plural(len(frame.data) - found.end, 'byte')} behind the {side} body at byte {found.end}"
        anomalies.append(_anomaly(AnomalyKind.TRAILING_BYTES, detail, frame))
    return DecodedBody(found.body, None, tuple(anomalies))


def _whole_body(data: bytes, offset: int, read: Decoder | None) -> dict[str, Any] | None:
    """Return the body if the bytes are exactly one body without a need for more facts, as nearly always."""
    if read is None:
        return None
    try:
        body, end = read(data, offset)
    except DecodeError:
        return None
    return body if end == len(data) else None


def _cut_body(exchange: Exchange, frame: Frame, side: str, show_secrets: bool) -> DecodedBody:
    if frame.logged is not None:
        return DecodedBody(None, NOT_LOGGED)
    error = f"only {len(frame.data)} of {plural(frame.size, 'byte')} were captured"
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return DecodedBody(None, error)  # all of its bytes together have a meaning
    part, stop = _part(exchange, side, show_secrets)
    return DecodedBody(part, f"{error}, up to {stop}" if part and stop else error)


def part_of(exchange: Exchange, side: str) -> "Part | None":
    """Return the readable part of a body that was cut or does not fit. Raises nothing.

    None if the header does not fit, so that the start of the body is unknown, and for a body that the schema
    does not know.
    """
    from kdissect.decoders.body_parts import body_part  # start-up: nearly all bodies fit

    is_response = side != "request"
    frame = exchange.response if is_response else exchange.request
    key, version = exchange.api_key, exchange.api_version
    offset = exchange.response_body_offset if is_response else exchange.request_body_offset
    if frame is None or key is None or version is None or not 0 < offset <= len(frame.data):
        return None
    return body_part(frame.data, offset, key, version, is_response, _facts()(exchange, side))


def _part(exchange: Exchange, side: str, show_secrets: bool) -> "tuple[dict[str, Any] | None, str]":
    """Return the same as JSON, None for nothing, and the path of the first piece that does not fit."""
    from kdissect.decoders.body_parts import part_jsonable  # start-up: nearly all bodies fit

    part = part_of(exchange, side)
    if part is None or exchange.api_key is None:
        return None, ""
    facts = _facts()(exchange, side)
    return part_jsonable(part, exchange.api_key, show_secrets, facts) or None, part.stop


def _token(exchange: Exchange, frame: Frame, side: str, show_secrets: bool) -> DecodedBody:
    """Return a bare SASL token, in the form of SaslAuthenticate's `auth_bytes`."""
    from kdissect.decoders.payloads.nesting import token_jsonable  # start-up: few have payloads

    return DecodedBody(token_jsonable(frame.data, _facts()(exchange, side), show_secrets), None)


@cache
def _facts() -> Callable[[Exchange, str], Mapping[str, Any]]:
    """Return `payload_facts`, loaded with the first body, because the list of exchanges decodes none, and
    loaded once, because the import statement takes a microsecond each time.
    """
    from kdissect.engine.payload_facts import payload_facts  # start-up

    return payload_facts


def _anomaly(kind: AnomalyKind, detail: str, frame: Frame) -> Anomaly:
    return Anomaly(kind, detail, frame.first_ref, frame.time_ns)
