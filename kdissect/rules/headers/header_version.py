"""HDR003: the header version must be the one of API and version."""

from collections.abc import Iterator

from kdissect.decoders.generated.compiled import fits
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.wording import plural
from kdissect.rules.headers.frame_readings import body_without_tags, has_tags, reads_well
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS

_NO_TAGS = 0  # the empty tag section is one zero byte (KIP-482)
_EMPTY_SECTION = bytes([_NO_TAGS])


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

    A flexible version has a request header v2 and a response header v1, both with a tag section; others have
    none. ApiVersions responses never have one. Here the body does not fit where it should begin, and fits
    exactly without a tag section, or one byte behind: the section is missing, or it is one too many.

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
        """Whether the body fits one byte away."""
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
