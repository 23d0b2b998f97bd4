"""Add payloads in their places: in the JSON of a body, next to their bytes; in its tree, within them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kdissect.decoders.as_json.jsonable import PAYLOAD_SUFFIX, bytes_value, to_jsonable
from kdissect.decoders.generated.values import Bytes, Value
from kdissect.decoders.payloads import envelope, groups, telemetry, text
from kdissect.decoders.payloads import sasl_payloads as sasl
from kdissect.decoders.payloads.payload import Finder, Found, Nest, Payload
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.payloads.versioned import versioned
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.model.limits import in_force
from kdissect.schema.secrets import MASK
from kdissect.schema.types import Field


class Expander:
    """Decodes payloads for `jsonable.to_jsonable`. `problems` collects what did not fit, a line each."""

    def __init__(self, scope: Scope, show_secrets: bool, problems: list[str]) -> None:
        self._scope = scope
        self._show_secrets = show_secrets
        self._problems = problems

    def __call__(self, field: Field, item: bytes, chain: tuple[Value, ...]) -> dict[str, Any] | None:
        scope = self._scope.inside(chain)
        found = find(field.payload or "", item, 0, len(item), scope)
        if found is None:
            return None
        payload = found.decode(item, len(item))
        if payload.error is not None:
            self._problems.append(f"{chain[0].message_name}: {field.name}: {payload.error}")
        inner = Expander(getattr(found, "scope", scope), self._show_secrets, self._problems)
        return payload_jsonable(payload, self._show_secrets, inner)


def payload_jsonable(
    payload: Payload, show_secrets: bool = False, expand: Expander | None = None
) -> dict[str, Any]:
    """`{payload, version, value, why}`: the format's name, the version its bytes say, its value.

    `version` only for formats that have one, `why` only where something does not fit. `expand` decodes what
    stands inside of it. Raises nothing.
    """
    expand = expand or Expander(Scope(), show_secrets, [])
    told: dict[str, Any] = {"payload": payload.name}
    if payload.version is not None:
        told["version"] = payload.version
    told["value"] = _plain(payload.value, show_secrets, expand)
    if payload.error is not None:
        told["why"] = str(payload.error)
    return told


def _plain(value: Any, show_secrets: bool, expand: Expander | None) -> Any:
    if isinstance(value, Value):
        return to_jsonable(value, show_secrets, expand)
    if isinstance(value, dict):
        return {name: _plain(item, show_secrets, expand) for name, item in value.items()}
    return bytes_value(value) if isinstance(value, Bytes) else value


def jsonable_body(
    value: Value, show_secrets: bool, facts: Mapping[str, Any], problems: list[str]
) -> dict[str, Any]:
    """Return a decoded body as a dict for JSON, with the payloads in it decoded. Raises nothing."""
    return to_jsonable(value, show_secrets, Expander(Scope(facts), show_secrets, problems))


def token_jsonable(data: bytes, facts: Mapping[str, Any], show_secrets: bool) -> dict[str, Any]:
    """Return a bare SASL token (behind SaslHandshake version 0) in the form of a body with the one field
    `token`.
    """
    told: dict[str, Any] = {"token": bytes_value(data) if show_secrets or not data else MASK}
    found = find("saslToken", data, 0, len(data), Scope(facts))
    if found is not None:
        told["token" + PAYLOAD_SUFFIX] = payload_jsonable(found.decode(data, len(data)), show_secrets)
    return told


def token_node(data: bytes, facts: Mapping[str, Any]) -> Node:
    """Return a bare SASL token as a tree: a masked field, what it holds below it."""
    node = Node("token", "bytes", 0)
    node.end = len(data)
    node.value = data
    node.is_secret = bool(data)
    found = find("saslToken", data, 0, len(data), Scope(facts))
    if found is not None:
        node.children.append(found.dissect(data, 0, len(data), nest))
    return node


def nest(root: Node, data: bytes, scope: Scope) -> None:
    """Replace the contents of a tree's bytes fields by trees of their payloads. Raises nothing."""
    _nest(root, data, scope, ())


def _nest(node: Node, data: bytes, scope: Scope, chain: tuple[Value, ...]) -> None:
    if isinstance(node.value, Value):
        chain = (*chain, node.value)
    field = node.field
    if field is not None and field.payload and isinstance(node.value, Bytes) and node.value:
        nest_content(node, field.payload, data, scope.inside(chain))
        return
    for child in node.children:
        _nest(child, data, scope, chain)


def nest_content(node: Node, place: str, data: bytes, scope: Scope) -> None:
    """Replace the content of one bytes field by the tree of its payload. Raises nothing."""
    content = node.children[-1]
    if content.name != "content":  # replaced already: the tree of a whole inner message
        return
    found = find(place, data, content.start, content.end, scope)
    if found is None:
        return
    tree = found.dissect(data, content.start, content.end, nest)
    if tree.end < content.end:  # an error, or bytes after it
        content.start = tree.end
        content.value = data[tree.end : content.end]
        content.name = "rest"
        node.children.insert(-1, tree)
    else:
        node.children[-1] = tree
    nest(tree, data, scope)


class _TooDeep(NamedTuple):
    """A payload that is nested deeper than the limits allow: it is reported, and stays undecoded.

    `place` is its name in the schema, `most` how many payloads may stand in each other.
    """

    place: str
    most: int

    def decode(self, data: bytes, end: int) -> Payload:
        """No value, and why."""
        return Payload(self.place, None, None, self._error(0))

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return one node. Its bytes were not decoded, so they count as secret."""
        node = Node(self.place, "payload", start)
        node.end = end
        node.is_secret = True
        node.error = self._error(start)
        return node

    def _error(self, start: int) -> DecodeError:
        return DecodeError(self.place, start, f"payloads nested deeper than {self.most}")


def _principal(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return a principal as DefaultKafkaPrincipalBuilder writes it. Custom builders differ."""
    return versioned("DefaultPrincipalData", data, start, end)


FINDERS: dict[str, Finder] = {
    "address": text.address,
    "assignmentUserData": groups.assignment_user_data,
    "connectAssignment": groups.connect_assignment,
    "groupAssignment": groups.assignment,
    "groupMetadata": groups.metadata,
    "principal": _principal,
    "request": envelope.request,
    "response": envelope.response,
    "saslToken": sasl.token,
    "subscriptionUserData": groups.subscription_user_data,
    "telemetry": telemetry.telemetry,
    "text": text.text,
}


def find(place: str, data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the format of the bytes `start` to `end` of a place; None if it is unknown, or without bytes.

    Raises nothing.
    """
    if start >= end:
        return None
    most = in_force().payload_depth
    if scope.depth > most:
        return _TooDeep(place, most)
    return FINDERS[place](data, start, end, scope)
