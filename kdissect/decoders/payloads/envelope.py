"""A broker's Envelope to the controller (KIP-590): a request of a client, forwarded whole, and its answer.

Both fields are secret as they stand: the request inside may hold any secret. The decoded parts are masked
field by field.
"""

from typing import Any, NamedTuple

from kdissect.decoders.frame_trees import request_tree, response_tree
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.payloads.payload import Found, Nest, Payload
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.schema.protocol_messages import api_name


class InnerRequest(NamedTuple):
    """A request with its header, without a size before it."""

    scope: Scope

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the header and body."""
        try:
            header, body = decode_request(data[:end], size_prefixed=False)
        except DecodeError as error:
            return Payload("Request", None, None, error)
        told = {
            "api_key": header.api_key,
            "api": api_name(header.api_key),
            "api_version": header.api_version,
            "correlation_id": header.correlation_id,
            "client_id": header.client_id,
        }
        return Payload("Request", header.api_version, {"header": told, "body": body})

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return the request's tree."""
        return request_tree(data[:end], start, self.scope, nest)


class InnerResponse(NamedTuple):
    """The response to an inner request of this key and version."""

    api_key: int
    api_version: int
    scope: Scope

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the header and body."""
        try:
            found = decode_response(data[:end], self.api_key, self.api_version, size_prefixed=False)
        except DecodeError as error:
            return Payload("Response", self.api_version, None, error)
        value: dict[str, Any] = {"header": {"correlation_id": found.correlation_id}, "body": found.body}
        return Payload("Response", found.version, value)

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return the response's tree."""
        return response_tree(data[:end], self.api_key, self.api_version, start, self.scope, nest)


def request(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the request inside."""
    return InnerRequest(Scope(depth=scope.depth))


def response(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the response inside, where the request was seen (`inner_api` of the facts)."""
    inner = scope.facts.get("inner_api")
    return None if inner is None else InnerResponse(inner[0], inner[1], Scope(depth=scope.depth))


def inner_api(data: bytes) -> tuple[int, int] | None:
    """Return the key and version of the request inside, for the response's sake."""
    if len(data) < 4:
        return None
    return int.from_bytes(data[:2], signed=True), int.from_bytes(data[2:4], signed=True)
