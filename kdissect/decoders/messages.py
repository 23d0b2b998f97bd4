"""Whole frames to values: the decoders' public face. All functions raise DecodeError only.

A frame may have its 4-byte size or not; `size_prefixed=None` finds out, see `frame_start`. With `strict`, a
wrong size and bytes after the body are errors, too.
"""

from typing import Any, NamedTuple

from kdissect.decoders import quirks
from kdissect.decoders.bodies import (
    body_fits,
    decode_request_body,
    decode_response_body,
    request_summarizer,
    response_summarizer,
    summarize_request,
    summarize_response,
)
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.frame_start import request_start, response_start, size_error
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.headers import parse_correlation_id, parse_request_header, response_body_offset
from kdissect.model.errors import DecodeError
from kdissect.model.frame import RequestHeader
from kdissect.model.wording import plural

__all__ = [
    "DecodedRequest",
    "DecodedResponse",
    "body_fits",
    "decode_request",
    "decode_request_body",
    "decode_response",
    "decode_response_body",
    "request_summarizer",
    "response_summarizer",
    "summarize_request",
    "summarize_response",
]


class DecodedRequest(NamedTuple):
    """A request.

    `body` is an object of `values`; `header.body_offset` counts from the start of the input.
    """

    header: RequestHeader
    body: Any


class DecodedResponse(NamedTuple):
    """A response.

    `version` is that of the body: 0 where a broker refused an ApiVersions request (KIP-511).
    """

    correlation_id: int
    body: Any
    version: int


def decode_request(
    frame: bytes | bytearray | memoryview, *, strict: bool = True, size_prefixed: bool | None = None
) -> DecodedRequest:
    """Decode one whole request. With `strict`, bytes after the body are an error. Raises DecodeError."""
    data = bytes(frame)
    start = request_start(data, size_prefixed)
    if strict:
        _check_size(data, start)
    header = parse_request_header(data, start)
    key, version, offset = header.api_key, header.api_version, header.body_offset
    message = body_message(key, version, is_response=False, offset=offset)
    body, end = decoder(message, version)(data, offset)
    if strict:
        ignored = quirks.is_ignorable_tail(key, version, data, end)
        _check_end(message.name, data, len(data) if ignored else end)
    return DecodedRequest(header, body)


def decode_response(
    frame: bytes | bytearray | memoryview,
    api_key: int,
    api_version: int,
    *,
    strict: bool = True,
    size_prefixed: bool | None = None,
) -> DecodedResponse:
    """Decode one whole response to a request of that API and version, which the response does not contain.

    Raises DecodeError.
    """
    data = bytes(frame)
    start = response_start(data, api_key, api_version, size_prefixed)
    if strict:
        _check_size(data, start)
    correlation_id = parse_correlation_id(data, start)
    offset = response_body_offset(data, api_key, api_version, start)
    version = quirks.response_body_version(api_key, api_version, data, offset)
    message = body_message(api_key, version, is_response=True, offset=offset)
    body, end = decoder(message, version)(data, offset)
    if strict:
        _check_end(message.name, data, end)
    return DecodedResponse(correlation_id, body, version)


def _check_size(data: bytes, start: int) -> None:
    wrong = size_error(data, start)
    if wrong:
        raise wrong


def _check_end(name: str, data: bytes, end: int) -> None:
    if end != len(data):
        raise DecodeError(name, end, f"{plural(len(data) - end, 'byte')} left over")
