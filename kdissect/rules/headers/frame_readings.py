"""How else a frame can be read that does not fit: without its tag section, with one, as another version.

Strictly: to the last byte, with tags that the version has, each once. Of readings that fit those count that
have the fewest nulls: zeros and small numbers fit as nulls and as sections with tags of no bytes.
"""

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.compiled import fits
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.wording import runs_text
from kdissect.rules.bodies.tags import is_unknown
from kdissect.rules.views import pieces
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message

_FIXED = 10  # API key, version, correlation id, length of the client id (spec/004 "Complete Request Format")
_CORRELATION_ID = 4
_EMPTY_SECTION = b"\0"  # KIP-482
_MIN_BODY = 16  # shorter bodies fit several versions by chance


def has_tags(api_key: int, version: int, is_response: bool) -> bool:
    """Return whether the header of a version ends in a tag section."""
    if is_response:
        return response_header_version(api_key, version) == 1
    return request_header_version(api_key, version) == 2


def tags_at(data: bytes, is_response: bool) -> int:
    """Return where the tag section of a frame's header is to begin: behind the client id or correlation
    id.
    """
    if is_response:
        return _CORRELATION_ID
    return _FIXED + max(int.from_bytes(data[_FIXED - 2 : _FIXED], signed=True), 0)


def body_without_tags(data: bytes, api_key: int, version: int, is_response: bool) -> int | None:
    """Return where the body of a frame begins whose header lacks its tag section; None where that explains
    nothing.

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
    """Return whether the bytes from there on are the body, strictly."""
    return _reading(message, version, data, offset) is not None


def other_versions(data: bytes, api_key: int, version: int, is_response: bool) -> list[int]:
    """Return the other versions of the API that a frame can be, after its own header, or one as they have."""
    api = protocol_messages.api(api_key)
    if api is None:
        return []
    message = api.response if is_response else api.request
    nulls: dict[int, int] = {}
    for other in range(message.versions.first, message.versions.last + 1):
        for form in {version, other} if other != version else ():
            offset = _body_at(data, api_key, form, is_response)
            found = None if offset is None else _reading(message, other, data, offset)
            if found is not None:
                nulls[other] = min(_nulls(found), nulls.get(other, len(data)))
    fewest = min(nulls.values(), default=0)
    return [other for other, count in nulls.items() if count == fewest]


def in_words(versions: list[int]) -> str:
    """`3`, `3 to 7`, `0, 3 to 7`."""
    return runs_text(versions, " to ")


def _body_at(data: bytes, api_key: int, version: int, is_response: bool) -> int | None:
    """Return where the body begins after the header of a version with an empty tag section; None if that does
    not fit, or if the body is too short.
    """
    offset = tags_at(data, is_response)
    if has_tags(api_key, version, is_response):
        if not data.startswith(_EMPTY_SECTION, offset):
            return None
        offset += len(_EMPTY_SECTION)
    return offset if len(data) - offset >= _MIN_BODY else None


def _reading(message: Message, version: int, data: bytes, offset: int) -> Node | None:
    """Return the body from there on, strictly; None where the bytes are none."""
    if not fits(message, version, data, offset):
        return None
    root = dissect(message, version, data, offset)
    for sort, node, _ in pieces.pieces(root):
        if sort == pieces.TAGS:
            tags = [child for child in node.children if child.type == "tag"]
            if len({tag.value for tag in tags}) < len(tags) or any(map(is_unknown, tags)):
                return None
    return root


def _nulls(root: Node) -> int:
    return sum(node.value is None and node.field is not None for node in root.walk())
