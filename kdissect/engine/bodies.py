"""Bodies of an exchange decoded for output."""

from typing import Any, NamedTuple

from kdissect.decoders.messages import request_to_jsonable, response_to_jsonable
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.errors import DecodeError
from kdissect.session.exchange import Exchange


class DecodedBody(NamedTuple):
    """A body as plain JSON values, or why there is none."""

    body: Any
    error: str | None
    anomalies: tuple[Anomaly, ...] = ()


def body_of(exchange: Exchange, side: str, show_secrets: bool) -> DecodedBody:
    """The body of one side (`request` or `response`) as plain JSON values. Raises nothing.

    A body that does not fit gives `error`; bytes behind a body that fits give an anomaly.
    """
    frame = exchange.request if side == "request" else exchange.response
    key, version = exchange.api_key, exchange.api_version
    if frame is None or key is None or version is None:
        return DecodedBody(None, None)
    if frame.is_cut:
        return DecodedBody(None, f"only {len(frame.data)} of {frame.size} bytes were captured")
    to_jsonable = request_to_jsonable if side == "request" else response_to_jsonable
    offset = exchange.request_body_offset if side == "request" else exchange.response_body_offset
    try:
        body, end = to_jsonable(frame.data, offset, key, version, show_secrets)
    except DecodeError as error:
        if exchange.is_unknown:
            return DecodedBody(None, str(error))  # the exchange says so already
        anomaly = Anomaly(AnomalyKind.MALFORMED_BODY, str(error), frame.first_ref, frame.time_ns)
        return DecodedBody(None, str(error), (anomaly,))
    if end < len(frame.data):
        detail = f"{len(frame.data) - end} bytes behind the {side} body at byte {end}"
        return DecodedBody(
            body, None, (Anomaly(AnomalyKind.TRAILING_BYTES, detail, frame.first_ref, frame.time_ns),)
        )
    return DecodedBody(body, None)
