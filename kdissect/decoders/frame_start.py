"""Where the content of a frame starts.

A frame pasted from somewhere may have its 4-byte size or not, and the size may be wrong. A size that says
exactly how many bytes follow is a size. Else the frame starts with its header if that makes sense there,
and with a wrong size if it makes sense only 4 bytes on.
"""

from kdissect.decoders.bodies import body_fits
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.headers import parse_request_header, response_body_offset
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural

SIZE_PREFIX = 4  # INT32 (spec/004 "Frame Structure")
_LEAST_FRAME = 8  # a size and a correlation id
_MOST_FRAME = (1 << 28) - 1  # as `session.detect.MAX_FRAME_SIZE`


def size_error(data: bytes, start: int) -> DecodeError | None:
    """Return the error of the size before a content that starts at `start`; None if it is right or
    missing.
    """
    if start < SIZE_PREFIX:
        return None
    says, follow = int.from_bytes(data[:SIZE_PREFIX], signed=True), len(data) - SIZE_PREFIX
    return (
        None
        if says == follow
        else DecodeError("size", 0, f"size says {plural(says, 'byte')}, {follow} follow")
    )


def request_start(data: bytes, size_prefixed: bool | None = None) -> int:
    """Return the offset of a request's header: 0 or 4. Raises nothing."""
    if size_prefixed is not None:
        return SIZE_PREFIX if size_prefixed else 0
    if size_error(data, SIZE_PREFIX) is None:
        return SIZE_PREFIX
    return SIZE_PREFIX if not _is_request(data, 0) and _is_request(data, SIZE_PREFIX) else 0


def response_start(data: bytes, api_key: int, api_version: int, size_prefixed: bool | None = None) -> int:
    """Return the offset of a response's header: 0 or 4. Raises nothing."""
    if size_prefixed is not None:
        return SIZE_PREFIX if size_prefixed else 0
    if size_error(data, SIZE_PREFIX) is None:
        return SIZE_PREFIX
    if _is_response(data, 0, api_key, api_version):
        return 0
    return SIZE_PREFIX if _is_response(data, SIZE_PREFIX, api_key, api_version) else 0


def _is_request(data: bytes, start: int) -> bool:
    try:
        header = parse_request_header(data, start)
        body_message(header.api_key, header.api_version, is_response=False)
    except DecodeError:
        return False
    return True


def _is_response(data: bytes, start: int, api_key: int, api_version: int) -> bool:
    try:
        offset = response_body_offset(data, api_key, api_version, start)
    except DecodeError:
        return False
    return body_fits(data, offset, api_key, api_version)


def may_be_frame(data: bytes, start: int) -> bool:
    """Return whether bytes left over may be another frame, of whatever API: the size before was wrong."""
    size = int.from_bytes(data[start : start + SIZE_PREFIX], signed=True)
    return len(data) - start >= _LEAST_FRAME and SIZE_PREFIX <= size <= _MOST_FRAME
