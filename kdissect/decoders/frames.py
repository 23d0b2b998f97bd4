"""Whole frames as trees, with the size before them and the payloads in them."""

from collections.abc import Mapping
from typing import Any

from kdissect.decoders.frame_start import request_start, response_start, size_error
from kdissect.decoders.frame_trees import body_tree, request_tree, response_tree
from kdissect.decoders.payloads.nesting import nest
from kdissect.decoders.payloads.scope import NEAR_SECRETS, Scope
from kdissect.decoders.trees.node import Node
from kdissect.schema.secrets import is_secretive

_NO_FACTS: Mapping[str, Any] = {}


def dissect_request(
    data: bytes, size_prefixed: bool | None = None, facts: Mapping[str, Any] = _NO_FACTS
) -> Node:
    """Return a request as a tree: size, header, body, bytes left over. Raises nothing: errors stand in the
    nodes.

    `facts` help to dissect payloads (`payloads.scope`).
    """
    start = request_start(data, size_prefixed)
    if size_error(data, start) and is_secretive(int.from_bytes(data[:2], signed=True)):
        facts = {**facts, NEAR_SECRETS: True}  # what reads as a wrong size may be the key of a damaged header
    return request_tree(data, start, Scope(facts), nest, _size_node(data, start))


def dissect_response(
    data: bytes,
    api_key: int,
    api_version: int,
    size_prefixed: bool | None = None,
    facts: Mapping[str, Any] = _NO_FACTS,
) -> Node:
    """Return a response as a tree, like `dissect_request`."""
    start = response_start(data, api_key, api_version, size_prefixed)
    return response_tree(data, api_key, api_version, start, Scope(facts), nest, _size_node(data, start))


def dissect_body(data: bytes, api_key: int, api_version: int, is_response: bool, offset: int = 0) -> Node:
    """Return a body alone as a tree, with the bytes left over. Raises nothing."""
    return body_tree(data, api_key, api_version, is_response, offset, nest)


def _size_node(data: bytes, start: int) -> Node | None:
    if not start:
        return None
    size = Node("size", "int32", 0)
    size.end = start
    size.value = int.from_bytes(data[:start], signed=True)
    size.error = size_error(data, start)
    return size
