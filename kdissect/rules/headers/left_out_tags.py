"""Headers without the tag section that their version has: where the body begins then."""

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.compiled import fits
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.rules import pieces
from kdissect.rules.bodies.unknown_tag import all_tags
from kdissect.schema.types import Message

_FIXED = 10  # API key, version, correlation id, length of the client id (spec/004 "Complete Request Format")
_CORRELATION_ID = 4


def has_tags(api_key: int, version: int, is_response: bool) -> bool:
    """Whether the header of a version ends in a tag section."""
    if is_response:
        return response_header_version(api_key, version) == 1
    return request_header_version(api_key, version) == 2


def tags_at(data: bytes, is_response: bool) -> int:
    """Where the tag section of a frame's header is to begin: behind the client id or correlation id."""
    if is_response:
        return _CORRELATION_ID
    return _FIXED + max(int.from_bytes(data[_FIXED - 2 : _FIXED], signed=True), 0)


def body_without_tags(data: bytes, api_key: int, version: int, is_response: bool) -> int | None:
    """Where the body of a frame begins whose header lacks its tag section; None where that explains nothing.

    The bytes from there on are one body, to the last of them.
    """
    message = known_body(api_key, version, is_response)
    if message is None or not has_tags(api_key, version, is_response):
        return None
    offset = tags_at(data, is_response)
    if offset >= len(data) or not any(data[offset:]):  # zeros fit wherever one begins to read
        return None
    return offset if reads_well(message, version, data, offset) else None


def reads_well(message: Message, version: int, data: bytes, offset: int) -> bool:
    """Whether the bytes from there on are the body, without tags that nobody writes.

    Zeros and small numbers fit as sections with tags of no bytes.
    """
    if not fits(message, version, data, offset):
        return False
    known = all_tags(message)
    for sort, node, _ in pieces.pieces(dissect(message, version, data, offset)):
        if sort == pieces.TAGS:
            tags = [child.value for child in node.children if child.type == "tag"]
            if len(set(tags)) < len(tags) or not known.issuperset(tags):
                return False
    return True
