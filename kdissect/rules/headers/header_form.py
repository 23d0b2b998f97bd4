"""Rules: the form of a header."""

from collections.abc import Iterator

from kdissect.decoders.generated.compiled import fits
from kdissect.decoders.headers import request_header_version
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.headers.frame_readings import (
    body_without_tags,
    has_tags,
    in_words,
    other_versions,
    reads_well,
    tags_at,
)
from kdissect.rules.kinds import ExchangeRule, UndecodableRule
from kdissect.rules.rule import REQUEST, RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange

_NO_TAGS = 0  # the empty tag section is one zero byte (KIP-482)
_EMPTY_SECTION = bytes([_NO_TAGS])


class MalformedHeader(ExchangeRule):
    """A header must have the form of its version.

    A request header is API key, version, correlation id, client id as a classic nullable string, and a tag
    section where the API version is flexible. A response header is a correlation id and, where flexible,
    a tag section. kdissect cannot read the bytes after a header that does not fit.

    Example: a client id of length -5, or one longer than the frame.

    What to do: write the header the API version asks for. The client id is never compact.
    """

    code = "HDR001"
    name = "malformed-header"
    cites = (
        "spec/004 Complete Request Format",
        "spec/004 Header Version Selection",
        "org.apache.kafka.common.requests.RequestHeader#parse",
    )
    needs_whole = True
    overrides = ("HDR005",)  # the client id is the unreadable part
    misleads = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the session's anomalies of the header."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.MALFORMED_HEADER:
                response = exchange.response
                is_response = response is not None and anomaly.ref == response.first_ref
                side = RESPONSE if is_response or exchange.request is None else REQUEST
                yield _explained(exchange, side) or Violation(
                    "a header of the API version", anomaly.detail, side=side, start=0, end=16
                )


def _explained(exchange: Exchange, side: str) -> Violation | None:
    """Return the classic fault, a body where the tag section of its flexible version belongs, or another
    version.
    """
    key, version = exchange.api_key, exchange.api_version
    frame = exchange.response if side == RESPONSE else exchange.request
    if frame is None or frame.is_cut or key is None or version is None:
        return None
    offset = body_without_tags(frame.data, key, version, side == RESPONSE)
    if offset is None:
        fitting = other_versions(frame.data, key, version, side == RESPONSE)
        if not fitting:
            return None
        seen = f"header and body are of version {in_words(fitting)}"
        return Violation(f"a header of version {version} of the API", seen, side=side, start=0, end=16)
    behind = "correlation id" if side == RESPONSE else "client id"
    seen = f"none: the body fits right behind the {behind}"
    return Violation("a tag section, as the version is flexible", seen, side=side, start=0, end=offset + 1)


class NegativeVersion(ExchangeRule):
    """An API version must not be negative.

    Brokers cannot answer it in any form and close the connection.

    Example: `00 03 ff ff`: Metadata in version -1.

    What to do: negotiate with ApiVersions; -1 is often the mark of a version that was never set.
    """

    code = "HDR002"
    name = "negative-version"
    who = Who.CLIENT
    cites = ("spec/004 api_version",)
    needs_whole = True
    overrides = ("VER001", "VER014", "VER019", "HDR009", "HDR010")
    misleads = True

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return True for versions below 0."""
        return api_version is not None and api_version < 0

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the version in the request header."""
        version = exchange.api_version
        if exchange.request is not None and version is not None and version < 0:
            yield Violation("0 or more", str(version), start=2, end=4)


def _shift(body: Body) -> int:
    """By how many bytes the body must be read elsewhere to fit; 0 if that explains nothing."""
    data, key, offset = body.data, body.api.key, body.offset
    is_response = body.side == RESPONSE
    if has_tags(key, body.version, is_response):  # of a section that was left out the body's bytes are read
        found = body_without_tags(data, key, body.version, is_response)
        return 0 if found is None else found - offset
    is_one_more = offset < len(data) and data[offset] == _NO_TAGS and any(data[offset:])
    return 1 if is_one_more and reads_well(body.message, body.version, data, offset + 1) else 0


class WrongHeaderVersion(UndecodableRule):
    """The header version must be the one of API and version.

    A flexible version has a request header v2 and a response header v1, both with a tag section. Other
    versions have no tag section. ApiVersions responses never have one. Here the body does not fit where it
    should begin, and fits exactly without a tag section, or one byte behind: the section is missing, or it
    is one too many.

    Example: an ApiVersions v3 response with a zero byte between correlation id and error code.

    What to do: add or leave out the empty tag section (one zero byte).
    """

    code = "HDR003"
    name = "wrong-header-version"
    cites = (
        "spec/004 Header Version Selection",
        "spec/004 ApiVersions Request",
        "org.apache.kafka.common.protocol.ApiKeys#requestHeaderVersion",
        "org.apache.kafka.common.protocol.ApiKeys#responseHeaderVersion",
    )
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Yield a violation if the body fits one byte away."""
        shift = _shift(body)
        if shift:
            what = f"the body fits {plural(abs(shift), 'byte')} {'earlier' if shift < 0 else 'later'}"
            if shift == -1 and fits(body.message, body.version, body.data + _EMPTY_SECTION, body.offset):
                what += ", or lacks its last byte"
            how = "without a tag section" if shift > 0 and body.api.key == API_VERSIONS else "of the version"
            yield Violation(
                f"a {body.side} header {how}", what,
                start=min(body.offset, body.offset + shift), end=max(body.offset, body.offset + shift),
                side=body.side,
            )  # fmt: skip


class HeaderTags(ExchangeRule):
    """Headers have no tagged fields so far.

    The tag section of a header is for the future: no tag is defined. Tags there are legal and ignored.

    Example: a request header v2 whose tag section holds tag 5.

    What to do: nothing, unless the tags are not yours.
    """

    code = "HDR004"
    name = "header-tags"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("spec/004 tagged_fields",)
    once = Once.PARTY
    guard = ExchangeFact.HEADER_TAGS

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return True for versions whose headers have a tag section."""
        api = None if api_key is None else protocol_messages.api(api_key)
        if api_key is None or api_version is None or api is None or api_version not in api.versions:
            return False
        return request_header_version(api_key, api_version) == 2

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield headers with more than an empty section before the body."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.is_unknown:
            return
        request, response = exchange.request, exchange.response
        for side, frame, end in (
            (REQUEST, request, exchange.request_body_offset),
            (RESPONSE, response, exchange.response_body_offset),
        ):
            is_response = side == RESPONSE
            if frame is None or frame.is_cut or not has_tags(key, version, is_response):
                continue
            start = tags_at(frame.data, is_response)
            if not start + 1 < end < len(frame.data):
                continue
            if body_without_tags(frame.data, key, version, is_response) is None:  # else they are the body
                seen = f"{plural(end - start, 'byte')} of tags"
                yield Violation("an empty tag section", seen, start=start, end=end, side=side)
