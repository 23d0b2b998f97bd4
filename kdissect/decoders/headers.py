"""Headers of requests and responses: enough of them to pair frames and find bodies, and fast."""

from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812  an exception class, whatever its case

from kdissect.decoders import quirks
from kdissect.decoders.cursor import skip_tags
from kdissect.model.errors import DecodeError
from kdissect.model.frame import RequestHeader
from kdissect.schema import protocol_messages

REQUEST = "RequestHeader"
RESPONSE = "ResponseHeader"

# api_key, api_version, correlation_id, length of client_id (spec/004 "Complete Request Format")
_REQUEST_HEAD = Struct(">hhih").unpack_from
_HEADER_0 = Struct(">hhi")
_HEADER_1_SIZE = 10
_CORRELATION_ID_SIZE = 4
_NO_TAGS = b"\0"

# Pairs of key and version a capture can show before the cache starts over: hostile requests can name 2^32
# of them.
_CACHE_SIZE = 4096
_new = tuple.__new__  # half the time of RequestHeader(...)


@lru_cache(maxsize=_CACHE_SIZE)
def request_header_version(api_key: int, api_version: int) -> int:
    """Return the version of a request's header: 2, with tags, where the body is flexible, else 1, or 0 as
    quirks say.

    Versions newer than the schema count as its newest one, and APIs that it does not know have header 1.
    """
    if quirks.has_no_client_id(api_key, api_version):
        return 0
    return 2 if _is_flexible(api_key, api_version) else 1


@lru_cache(maxsize=_CACHE_SIZE)
def response_header_version(api_key: int, api_version: int) -> int:
    """Return the version of a response's header: 1, with tags, where the body is flexible, else 0."""
    if quirks.has_plain_response_header(api_key):
        return 0
    return 1 if _is_flexible(api_key, api_version) else 0


def _is_flexible(api_key: int, api_version: int) -> bool:
    message = protocol_messages.request_message(api_key)
    return message is not None and message.is_flexible(api_version)


def parse_request_header(data: bytes, offset: int = 0, cut: bool = False) -> RequestHeader:
    """Return the header of the request whose content (behind the size) starts at `offset`.

    `client_id` that is not UTF-8 has its bad bytes as `\\\\xNN`. With `cut`, bytes missing at the end of
    `data` are no error: a client id that is not whole is None, and `body_offset` lies at or behind the end
    of `data`. Raises DecodeError.
    """
    try:
        key, version, correlation_id, length = _REQUEST_HEAD(data, offset)
        start = offset + _HEADER_1_SIZE
        end = start + length
        if length > 0:
            if end > len(data):
                raise ValueError
            client_id = data[start:end].decode("utf-8", "backslashreplace")
        elif length == 0:
            client_id = ""
        elif length == -1:
            client_id, end = None, start
        else:
            raise ValueError
        header_version = request_header_version(key, version)
        if header_version == 1:
            return _new(RequestHeader, (key, version, correlation_id, client_id, end))
        if header_version == 2:
            # Headers have no tags yet, which one byte says.
            end = end + 1 if data[end : end + 1] == _NO_TAGS else _end_of_tags(data, end)
            return _new(RequestHeader, (key, version, correlation_id, client_id, end))
    except (ValueError, IndexError, StructError):
        pass
    return _slow_path_header(data, offset, cut)


def _end_of_tags(data: bytes, offset: int) -> int:
    end = skip_tags(data, offset)
    if end > len(data):
        raise ValueError
    return end


def _slow_path_header(data: bytes, offset: int, cut: bool) -> RequestHeader:
    """Return a header without client id, one that is cut, or one that does not fit."""
    if len(data) - offset < _HEADER_0.size:
        raise _fault(REQUEST, 0, data, offset)
    key, version, correlation_id = _HEADER_0.unpack_from(data, offset)
    header_version = request_header_version(key, version)
    if header_version == 0:
        return RequestHeader(key, version, correlation_id, None, offset + _HEADER_0.size)
    if not cut:
        raise _fault(REQUEST, header_version, data, offset)
    return RequestHeader(key, version, correlation_id, *_cut_client_id(data, offset + _HEADER_0.size))


def _cut_client_id(data: bytes, offset: int) -> tuple[str | None, int]:
    """Return the client id, if it is all there, and an offset no body byte lies before."""
    length = int.from_bytes(data[offset : offset + 2], signed=True)
    start = offset + 2
    end = start + max(length, 0)
    if start > len(data) or end > len(data):
        return None, end
    client_id = None if length < 0 else data[start:end].decode("utf-8", "backslashreplace")
    return client_id, len(data)


def parse_correlation_id(data: bytes, offset: int = 0) -> int:
    """Return the correlation id that starts every response. Raises DecodeError."""
    if len(data) - offset < _CORRELATION_ID_SIZE:
        raise _fault(RESPONSE, 0, data, offset)
    return int.from_bytes(data[offset : offset + _CORRELATION_ID_SIZE], signed=True)


def response_body_offset(data: bytes, api_key: int, api_version: int, offset: int = 0) -> int:
    """Return where the body of the response whose content starts at `offset` begins. Raises DecodeError."""
    end = offset + _CORRELATION_ID_SIZE
    if response_header_version(api_key, api_version):
        if data[end : end + 1] == _NO_TAGS:
            return end + 1
        try:
            return _end_of_tags(data, end)
        except (ValueError, IndexError):
            raise _fault(RESPONSE, 1, data, offset) from None
    if end > len(data):
        raise _fault(RESPONSE, 0, data, offset)
    return end


def _fault(name: str, version: int, data: bytes, offset: int) -> DecodeError:
    from kdissect.decoders.trees.tree_decoder import locate  # only headers that do not fit need it

    found = locate(protocol_messages.header_message(name), version, data, offset)
    return found or DecodeError(name, offset, "header does not fit")
