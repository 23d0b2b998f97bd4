"""HDR003: the header version must be the one of API and version."""

from collections.abc import Iterator

from kdissect.decoders.compiled import fits
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.spanned import dissect
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules import pieces
from kdissect.rules.bodies.unknown_tag import all_tags
from kdissect.rules.body import Body
from kdissect.rules.connection_view import API_VERSIONS
from kdissect.rules.rule import REQUEST, Fault, MisfitRule

_NO_TAGS = 0  # the empty tag section is one zero byte (KIP-482)


def _shift(body: Body) -> int:
    """By how many bytes the body must be read elsewhere to fit; 0 if that explains nothing."""
    if not any(body.data[body.offset :]):  # zeros fit wherever one begins to read
        return 0
    shift = -1 if _has_tags(body) else 1  # a section that was left out, or one that does not belong there
    section = body.offset + min(shift, 0)
    if section >= len(body.data) or body.data[section] != _NO_TAGS:
        return 0
    return shift if _reads_well(body, body.offset + shift) else 0


def _reads_well(body: Body, offset: int) -> bool:
    """Whether the bytes from there on are the body, without tags that nobody writes.

    Zeros and small numbers fit as sections with tags of no bytes.
    """
    if not fits(body.message, body.version, body.data, offset):
        return False
    known = all_tags(body.message)
    for sort, node, _ in pieces.pieces(dissect(body.message, body.version, body.data, offset)):
        if sort == pieces.TAGS:
            tags = [child.value for child in node.children if child.type == "tag"]
            if len(set(tags)) < len(tags) or not known.issuperset(tags):
                return False
    return True


def _has_tags(body: Body) -> bool:
    """Whether the header of this version ends in a tag section."""
    if body.side == REQUEST:
        return request_header_version(body.api.key, body.version) == 2
    return response_header_version(body.api.key, body.version) == 1


class WrongHeaderVersion(MisfitRule):
    """The header version must be the one of API and version.

    A flexible version has a request header v2 and a response header v1, both with a tag section; others have
    none. ApiVersions responses never have one. Here the body does not fit where it should begin, and fits
    exactly one byte before or behind: the tag section is missing, or it is one too many.

    Example: an ApiVersions v3 response with a zero byte between correlation id and error code.

    What to do: add or leave out the empty tag section (one zero byte).
    """

    code = "HDR003"
    name = "wrong-header-version"
    cites = (
        "spec/004 Header Version Selection", "KIP-511", "KIP-482",
        "org.apache.kafka.message.ApiMessageTypeGenerator",
    )  # fmt: skip
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """Whether the body fits one byte away."""
        shift = _shift(body)
        if shift:
            what = "the body fits one byte earlier" if shift < 0 else "the body fits one byte later"
            how = "without a tag section" if shift > 0 and body.api.key == API_VERSIONS else "of the version"
            yield Fault(
                f"a {body.side} header {how}", what,
                start=min(body.offset, body.offset + shift), end=max(body.offset, body.offset + shift),
                side=body.side,
            )  # fmt: skip
