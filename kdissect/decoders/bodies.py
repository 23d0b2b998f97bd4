"""Bodies by API key and version, quirks included: what the session and the engine call."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kdissect.decoders import quirks
from kdissect.decoders.body_schemas import CACHE_SIZE, body_message, known_body
from kdissect.decoders.generated.compiled import decoder, fits
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.generated.summary import NO_SUMMARY, Summarizer, Summary, summarizer
from kdissect.decoders.headers import response_body_offset
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.frame import Frame
from kdissect.model.native import is_compiled, native
from kdissect.schema.error_codes import all_codes
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Message

if TYPE_CHECKING:
    from kdissect.decoders.decoded import Decoded
    from kdissect.decoders.generated.canonical import CanonicalDecoder

# How bytes do not fit if only their end is missing.
_CUT = frozenset({FaultKind.SHORT, FaultKind.LENGTH})
_MOST_SHARED = 4096  # bytes of a frame; Kafka's have 1,000
_FITS = 3  # the place of `Decoded.fits`, which is found faster than the name


def decode_request_body(data: bytes, offset: int, api_key: int, api_version: int) -> Any:
    """Return the request body at `offset` as an object of `values`; bytes after it are ignored.

    Raises DecodeError where the bytes do not fit, and for an API or version not in the schema.
    """
    return decoder(body_message(api_key, api_version, False, offset), api_version)(data, offset)[0]


def decode_response_body(data: bytes, offset: int, api_key: int, api_version: int) -> Any:
    """Return the response body at `offset` to a request of `api_version`, like `decode_request_body`.

    A refused ApiVersions request is answered in version 0 (KIP-511): then the object is that of version 0.
    """
    version = quirks.response_body_version(api_key, api_version, data, offset)
    return decoder(body_message(api_key, version, True, offset), version)(data, offset)[0]


def decode_both(
    request: Frame | None, asked_at: int, response: Frame | None, answered_at: int, api_key: int, version: int
) -> "tuple[Decoded | None, Decoded | None]":
    """Return the bodies of request and response like `decode_once`. Raises nothing."""
    # Hot, once an exchange: bodies that are canonical and fit, which nearly all are, take one call each.
    decode_request, decode_response = _canonical_decoders(api_key, version)
    asked = answered = None
    if request is not None and asked_at and len(request.data) == request.size:
        asked = decode_request(request.data, asked_at)
        if asked is None or not asked[_FITS]:
            asked = _slow_path(request.data, asked_at, api_key, version, False, asked)
    if response is not None and answered_at and len(response.data) == response.size:
        answered = decode_response(response.data, answered_at)
        if answered is None or not answered[_FITS]:
            answered = _slow_path(response.data, answered_at, api_key, version, True, answered)
    return asked, answered


def decode_once(
    frame: Frame | None, offset: int, api_key: int, api_version: int, is_response: bool
) -> "Decoded | None":
    """Return all facts about the body of a frame. Raises nothing.

    None without a frame, for a cut frame, for an API or version not in the schema, and at an `offset` of 0:
    if the header does not fit, the body's start is unknown.
    """
    if is_response:
        return decode_both(None, 0, frame, offset, api_key, api_version)[1]
    return decode_both(frame, offset, None, 0, api_key, api_version)[0]


def fitting_body(body: bytes, api_key: int, api_version: int, *, is_response: bool) -> Any:
    """Return a body without a header as an object of `values`, None if it does not fit. Raises nothing."""
    found = _canonical_decoders(api_key, api_version)[is_response](body, 0)
    if found is None or not found.fits:
        found = _slow_path(body, 0, api_key, api_version, is_response, found)
    return found.value if found is not None and found.fits else None


def _slow_path(
    data: bytes, offset: int, api_key: int, api_version: int, is_response: bool, found: "Decoded | None"
) -> "Decoded | None":
    """Decode a body that is not canonical, or does not end with its frame."""
    from kdissect.decoders.decoded import Decoded  # the list of exchanges decodes no body

    if known_body(api_key, api_version, is_response) is None:
        return None
    if is_response and quirks.may_answer_in_other_version(api_key):
        api_version = quirks.response_body_version(api_key, api_version, data, offset)
        if len(data) <= _MOST_SHARED:
            found = _shared(data[offset:], api_key, api_version)
            found = found and found._replace(end=found.end + offset)
        else:
            found = _canonical_decoder(api_key, api_version, True)(data, offset)
        if found is not None and found.fits:
            return found
    if found is None:
        try:
            value, end = decoder(body_message(api_key, api_version, is_response), api_version)(data, offset)
        except DecodeError as error:
            return Decoded(None, offset, api_version, False, False, error.kept())
        found = Decoded(value, end, api_version, end == len(data), False)
    if not is_response and quirks.is_ignorable_tail(api_key, api_version, data, found.end):
        return found._replace(fits=True)
    return found


def summarize_request(data: bytes, offset: int, api_key: int, api_version: int) -> Summary:
    """Return topics and acks of a request body, cut or not.

    Raises nothing. Unknown APIs and versions have no body.
    """
    return request_summarizer(api_key, api_version)(data, offset)


def summarize_response(data: bytes, offset: int, api_key: int, api_version: int) -> Summary:
    """Return error codes and topics of a response body, cut or not. Raises nothing."""
    return response_summarizer(api_key, api_version)(data, offset)


@lru_cache(maxsize=CACHE_SIZE)
def request_summarizer(api_key: int, api_version: int, is_listed: bool = False) -> Summarizer:
    """Return `(data, offset) -> Summary`: `summarize_request` of one API in one version.

    `is_listed`: with groups and rack, for a line of the list.
    """
    return _summarizer(api_key, api_version, False, is_listed)


@lru_cache(maxsize=CACHE_SIZE)
def response_summarizer(api_key: int, api_version: int, is_listed: bool = False) -> Summarizer:
    """Return `(data, offset) -> Summary`: `summarize_response` of one API in one version.

    `is_listed`: with groups and throttle time, for a line of the list.
    """
    if not quirks.may_answer_in_other_version(api_key):
        return _summarizer(api_key, api_version, True, is_listed)

    def summarize(data: bytes, offset: int) -> Summary:
        version = quirks.response_body_version(api_key, api_version, data, offset)
        return _summarizer(api_key, version, True, is_listed)(data, offset)

    return summarize


def body_fits(data: bytes, offset: int, api_key: int, api_version: int) -> bool:
    """Return whether the bytes from `offset` on are exactly one response body to a request of that version.

    Raises nothing.
    """
    version = quirks.response_body_version(api_key, api_version, data, offset)
    message = known_body(api_key, version, True)
    return message is not None and fits(message, version, data, offset)


def response_fits(frame: bytes, api_key: int, api_version: int) -> bool:
    """Return whether a frame is to its last byte a response to a request of that version. Raises nothing."""
    try:
        offset = response_body_offset(frame, api_key, api_version)
    except DecodeError:
        return False
    return body_fits(frame, offset, api_key, api_version)


def response_may_begin(frame: bytes, api_key: int, api_version: int) -> bool:
    """Return whether a frame without its end can be the beginning of a response to a request of that version.

    An error code that Kafka does not have speaks against it. Raises nothing.
    """
    try:
        offset = response_body_offset(frame, api_key, api_version)
    except DecodeError as error:
        return error.kind in _CUT
    version = quirks.response_body_version(api_key, api_version, frame, offset)
    message = known_body(api_key, version, True)
    if message is None:
        return False
    from kdissect.decoders.trees.tree_decoder import locate  # only a search for frames needs it

    fault = locate(message, version, frame, offset, trust_counts=True)
    if fault is None or fault.kind not in _CUT:
        return False
    return all_codes().issuperset(summarize_response(frame, offset, api_key, version).errors)


def request_fits(data: bytes, offset: int, api_key: int, api_version: int) -> bool:
    """Return whether the bytes from `offset` on are exactly one request body. Raises nothing."""
    if request_summarizer(api_key, api_version)(data, offset).fits:  # which lists of exchanges make anyway
        return True
    frame = Frame(data, len(data), 0, 0, 0, 0)
    decoded = decode_once(frame, offset, api_key, api_version, is_response=False)
    return decoded is not None and decoded.fits


@lru_cache(maxsize=CACHE_SIZE)
def _summarizer(api_key: int, api_version: int, is_response: bool, is_listed: bool) -> Summarizer:
    message = known_body(api_key, api_version, is_response)
    if message is None:
        return _nothing_known
    make = _walking if is_compiled else summarizer
    summarize = make(message, api_version, is_listed)
    return _without_secrets(summarize) if may_hold_secrets(message) else summarize


def _walking(message: Message, version: int, is_listed: bool = False) -> Summarizer:
    """Return the native `summarizer` (native/src/bodies/summaries.rs); it leaves unknown cases to the Python
    one.
    """

    def slow_path(data: bytes, offset: int) -> Summary:
        return summarizer(message, version, is_listed)(data, offset)

    return native.Summaries(native_layout(message, version)[0], Summary, slow_path, is_listed).summarize


def _without_secrets(summarize: Summarizer) -> Summarizer:
    """Of a body with secrets that does not fit, a name may be a piece of one."""

    def careful(data: bytes, offset: int) -> Summary:
        found = summarize(data, offset)
        return found if found.fits else found._replace(topics=(), topic_ids=(), groups=(), rack=None)

    return careful


@lru_cache(maxsize=CACHE_SIZE)
def _canonical_decoders(api_key: int, api_version: int) -> "tuple[CanonicalDecoder, CanonicalDecoder]":
    """Return the decoders of request and response; that of a response which may be in another version always
    returns None.
    """
    is_fixed = not quirks.may_answer_in_other_version(api_key)
    answer = _canonical_decoder(api_key, api_version, True) if is_fixed else _never_canonical
    return _canonical_decoder(api_key, api_version, False), answer


@lru_cache(maxsize=CACHE_SIZE)
def _canonical_decoder(api_key: int, api_version: int, is_response: bool) -> "CanonicalDecoder":
    from kdissect.decoders.generated.canonical import (
        canonical_decoder,
    )  # the list of exchanges decodes no body

    message = known_body(api_key, api_version, is_response)
    return canonical_decoder(message, api_version) if message else _never_canonical


@lru_cache(maxsize=256)  # 30 KB each, shared by all connections to brokers of a release
def _shared(body: bytes, api_key: int, api_version: int) -> "Decoded | None":
    """Return the versions that a broker offers: each of its connections begins with the same body. Values are
    not changed, so that all may have the same one, by which it is recognised (`kdissect.model.same`).
    """
    return _canonical_decoder(api_key, api_version, True)(body, 0)


def _never_canonical(data: bytes, offset: int) -> None:
    return None


def _nothing_known(data: bytes, offset: int) -> Summary:
    return NO_SUMMARY
