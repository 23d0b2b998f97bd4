"""Frames as trees, from the header on. Nothing here raises: errors stand in the nodes.

The caller supplies the decoder of payloads (`nest`), because a payload may be a frame itself.
"""

from kdissect.decoders import quirks
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.frame_start import may_be_frame
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.payloads.payload import Nest
from kdissect.decoders.payloads.scope import GUESSED, NEAR_SECRETS, Scope, may_hold_secrets
from kdissect.decoders.trees.masking import conceal_misread, may_be_misread
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.all_fields import has_payloads
from kdissect.schema.secrets import is_secretive


def request_tree(data: bytes, start: int, scope: Scope, nest: Nest, size: Node | None = None) -> Node:
    """Return the tree of the request whose header is at `start`, after a node of its size if there is one."""
    root = _frame_node("Request", start, size)
    head = data[start : start + 4]
    key = int.from_bytes(head[:2], signed=True)
    version = int.from_bytes(head[2:], signed=True)
    header_version = request_header_version(key, version)
    header = dissect(protocol_messages.header_message("RequestHeader"), header_version, data, start)
    _add(root, header)
    if header.error is None:
        _add_body(root, data, key, version, False, scope, nest)
    return _judged(root, key, scope)


def response_tree(
    data: bytes,
    api_key: int,
    api_version: int,
    start: int,
    scope: Scope,
    nest: Nest,
    size: Node | None = None,
) -> Node:
    """Return the tree of the response whose header is at `start`, like `request_tree`."""
    root = _frame_node("Response", start, size)
    header_version = response_header_version(api_key, api_version)
    header = dissect(protocol_messages.header_message("ResponseHeader"), header_version, data, start)
    _add(root, header)
    if header.error is None:
        version = quirks.response_body_version(api_key, api_version, data, header.end)
        _add_body(root, data, api_key, version, True, scope, nest)
    return _judged(root, api_key, scope)


def body_tree(
    data: bytes, api_key: int, api_version: int, is_response: bool, offset: int, nest: Nest
) -> Node:
    """Return the tree of a body alone, with the bytes left over."""
    root = Node("Response" if is_response else "Request", "body", offset)
    version = quirks.response_body_version(api_key, api_version, data, offset) if is_response else api_version
    scope = Scope()
    _add_body(root, data, api_key, version, is_response, scope, nest)
    return _judged(root, api_key, scope)


def _judged(root: Node, api_key: int, scope: Scope) -> Node:
    """Return the tree of a frame. Near secrets, conceal each value that is not where it belongs."""
    near = scope.facts.get(NEAR_SECRETS)
    if near == GUESSED or (may_be_misread(root) and (near or is_secretive(api_key))):
        conceal_misread(root, is_known=protocol_messages.api(api_key) is not None)
    return root


def _frame_node(name: str, start: int, size: Node | None) -> Node:
    root = Node(name, "frame", start if size is None else 0)
    if size is not None:
        _add(root, size)
    return root


def _add(root: Node, child: Node) -> None:
    root.children.append(child)
    root.end = child.end
    root.error = root.error or child.error


def _add_body(
    root: Node, data: bytes, api_key: int, version: int, is_response: bool, scope: Scope, nest: Nest
) -> None:
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


def _add_rest(root: Node, data: bytes, start: int, error: DecodeError | None) -> None:
    rest = Node("rest", "bytes", start)
    rest.end = len(data)
    rest.value = data[start:]
    rest.error = error
    _add(root, rest)
