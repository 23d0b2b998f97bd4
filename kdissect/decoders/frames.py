"""Where the content of a frame starts, and whole frames as trees.

A frame pasted from somewhere may have its 4-byte size or not, and the size may be wrong. A size that says
exactly how many bytes follow is a size. Else the frame starts with its header if that makes sense there,
and with a wrong size if it makes sense only 4 bytes on.
"""

from collections.abc import Mapping
from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.bodies import body_fits
from kdissect.decoders.body_parts import may_hold_secrets
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.headers import (
    parse_request_header,
    request_header_version,
    response_body_offset,
    response_header_version,
)
from kdissect.decoders.masking import conceal_odd, is_odd
from kdissect.decoders.node import Node
from kdissect.decoders.payloads.nesting import nest
from kdissect.decoders.payloads.scope import GUESSED, NEAR_SECRETS, Scope
from kdissect.decoders.spanned import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.plural import plural
from kdissect.schema import registry
from kdissect.schema.secrets import is_secretive
from kdissect.schema.walk import has_payloads

_NO_FACTS: Mapping[str, Any] = {}
SIZE_PREFIX = 4  # INT32 (spec/004 "Frame Structure")
_LEAST_FRAME = 8  # a size and a correlation id
_MOST_FRAME = (1 << 28) - 1  # as `session.detect.MAX_FRAME_SIZE`


def size_error(data: bytes, start: int) -> DecodeError | None:
    """What is wrong with the size before a content that starts at `start`; None if it is right or there is
    none.
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
    """Offset of a request's header: 0 or 4. Raises nothing."""
    if size_prefixed is not None:
        return SIZE_PREFIX if size_prefixed else 0
    if size_error(data, SIZE_PREFIX) is None:
        return SIZE_PREFIX
    return SIZE_PREFIX if not _is_request(data, 0) and _is_request(data, SIZE_PREFIX) else 0


def response_start(data: bytes, api_key: int, api_version: int, size_prefixed: bool | None = None) -> int:
    """Offset of a response's header: 0 or 4. Raises nothing."""
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


def dissect_request(
    data: bytes, size_prefixed: bool | None = None, facts: Mapping[str, Any] = _NO_FACTS
) -> Node:
    """A request as a tree: size, header, body, bytes left over. Raises nothing: errors stand in the nodes.

    `facts` help to dissect payloads (`payloads.scope`).
    """
    start = request_start(data, size_prefixed)
    if size_error(data, start) and is_secretive(int.from_bytes(data[:2], signed=True)):
        facts = {**facts, NEAR_SECRETS: True}  # what reads as a wrong size may be the key of a damaged header
    return request_tree(data, start, Scope(facts), _size_node(data, start))


def dissect_response(
    data: bytes,
    api_key: int,
    api_version: int,
    size_prefixed: bool | None = None,
    facts: Mapping[str, Any] = _NO_FACTS,
) -> Node:
    """A response as a tree, like `dissect_request`."""
    start = response_start(data, api_key, api_version, size_prefixed)
    return response_tree(data, api_key, api_version, start, Scope(facts), _size_node(data, start))


def request_tree(data: bytes, start: int, scope: Scope, size: Node | None = None) -> Node:
    """The tree of the request whose header is at `start`, behind a node of its size if there is one."""
    root = _frame_node("Request", start, size)
    head = data[start : start + 4]
    key = int.from_bytes(head[:2], signed=True)
    version = int.from_bytes(head[2:], signed=True)
    header_version = request_header_version(key, version)
    header = dissect(registry.header_message("RequestHeader"), header_version, data, start)
    _add(root, header)
    if header.error is None:
        _add_body(root, data, key, version, False, scope)
    return _judged(root, key, scope)


def response_tree(
    data: bytes, api_key: int, api_version: int, start: int, scope: Scope, size: Node | None = None
) -> Node:
    """The tree of the response whose header is at `start`, like `request_tree`."""
    root = _frame_node("Response", start, size)
    header_version = response_header_version(api_key, api_version)
    header = dissect(registry.header_message("ResponseHeader"), header_version, data, start)
    _add(root, header)
    if header.error is None:
        version = quirks.response_body_version(api_key, api_version, data, header.end)
        _add_body(root, data, api_key, version, True, scope)
    return _judged(root, api_key, scope)


def dissect_body(data: bytes, api_key: int, api_version: int, is_response: bool, offset: int = 0) -> Node:
    """A body alone as a tree, with the bytes left over. Raises nothing."""
    root = Node("Response" if is_response else "Request", "body", offset)
    version = quirks.response_body_version(api_key, api_version, data, offset) if is_response else api_version
    scope = Scope()
    _add_body(root, data, api_key, version, is_response, scope)
    return _judged(root, api_key, scope)


def _judged(root: Node, api_key: int, scope: Scope) -> Node:
    """The tree of a frame; near secrets nothing is shown that is not where it belongs."""
    near = scope.facts.get(NEAR_SECRETS)
    if near == GUESSED or (is_odd(root) and (near or is_secretive(api_key))):
        conceal_odd(root, is_known=registry.api(api_key) is not None)
    return root


def _size_node(data: bytes, start: int) -> Node | None:
    if not start:
        return None
    size = Node("size", "int32", 0)
    size.end = start
    size.value = int.from_bytes(data[:start], signed=True)
    size.error = size_error(data, start)
    return size


def _frame_node(name: str, start: int, size: Node | None) -> Node:
    root = Node(name, "frame", start if size is None else 0)
    if size is not None:
        _add(root, size)
    return root


def _add(root: Node, child: Node) -> None:
    root.children.append(child)
    root.end = child.end
    root.error = root.error or child.error


def _add_body(root: Node, data: bytes, api_key: int, version: int, is_response: bool, scope: Scope) -> None:
    start = root.end
    try:
        message = body_message(api_key, version, is_response, start)
    except DecodeError as error:
        _add_rest(root, data, start, error)
        return
    body = dissect(message, version, data, start, enter=not may_hold_secrets(api_key, scope.facts))
    if has_payloads(message):
        nest(body, data, scope)
    _add(root, body)
    root.value = body.value
    if body.error is None and body.end < len(data):
        ignored = not is_response and quirks.is_ignorable_tail(api_key, version, data, body.end)
        why = f"{plural(len(data) - body.end, 'byte')} left over"
        _add_rest(root, data, body.end, None if ignored else DecodeError(body.name, body.end, why))
        root.children[-1].is_secret = may_be_frame(data, body.end)


def may_be_frame(data: bytes, start: int) -> bool:
    """Whether bytes left over may be another frame, of whatever API: the size before was wrong."""
    size = int.from_bytes(data[start : start + SIZE_PREFIX], signed=True)
    return len(data) - start >= _LEAST_FRAME and SIZE_PREFIX <= size <= _MOST_FRAME


def _add_rest(root: Node, data: bytes, start: int, error: DecodeError | None) -> None:
    rest = Node("rest", "bytes", start)
    rest.end = len(data)
    rest.value = data[start:]
    rest.error = error
    _add(root, rest)
