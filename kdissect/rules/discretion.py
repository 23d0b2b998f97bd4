"""Which bytes a finding must not show, because they may be a password or a token.

A body that decodes says which of its fields are secret. One that does not fit may have them anywhere: where
its message has secret fields at all, only pieces are shown that are too short for a secret.
"""

from collections.abc import Iterator

from kdissect.decoders.masking import secret_nodes
from kdissect.decoders.node import Node
from kdissect.rules.body import body_of
from kdissect.rules.rule import REQUEST
from kdissect.schema import registry
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Message
from kdissect.session.exchange import Exchange, ExchangeKind

# Fewer bytes tell nothing: an empty tag section, a boolean, a piece of a length.
SHORT = 4


def is_discreet(exchange: Exchange, side: str, start: int, end: int) -> bool:
    """Whether the bytes from `start` to `end` of a frame's content are to be kept back."""
    if start < 0 or end <= start:
        return False
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return True
    offset = exchange.request_body_offset if side == REQUEST else exchange.response_body_offset
    message = _message(exchange, side)
    if message is None or not 0 < offset < end or not may_hold_secrets(message):
        return False
    body = body_of(exchange, side)
    if body is None or not body.fits:
        return end - start >= SHORT
    hidden = secret_nodes(body.tree)
    return any(node.start < end and start < node.end for node in _nodes(body.tree) if id(node) in hidden)


def _message(exchange: Exchange, side: str) -> Message | None:
    api = None if exchange.api_key is None else registry.api(exchange.api_key)
    if api is None:
        return None
    return api.request if side == REQUEST else api.response


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)
