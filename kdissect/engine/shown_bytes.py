"""Which bytes of a frame a finding shows: none that may be a password or a token.

A body that decodes says which of its fields are secret. One that does not fit may have them anywhere: where
its message has secret fields at all, only pieces are shown that are too short for a secret.
"""

from kdissect.decoders.masking import secret_nodes
from kdissect.decoders.spanned import dissect
from kdissect.engine.patches import patched
from kdissect.engine.secret_bytes import secret_patches
from kdissect.model.finding import EVIDENCE_BYTES
from kdissect.schema import registry
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Message
from kdissect.session.exchange import Exchange, ExchangeKind

# Fewer bytes tell nothing: an empty tag section, a boolean, a piece of a length.
_SHORT = 4


def shown_bytes(exchange: Exchange, side: str, start: int, end: int) -> bytes:
    """The first `EVIDENCE_BYTES` from `start` to `end` of a frame's content; none where the bytes may hold a
    secret. Raises nothing.
    """
    frame = exchange.request if side == "request" else exchange.response
    if frame is None or end <= start or _is_in_secret(exchange, side, start, end):
        return b""
    end = min(end, start + EVIDENCE_BYTES)
    seen = frame.data[start:end]
    may_hold = len(seen) >= _SHORT and patched(frame.data, secret_patches(exchange, side), start, end) != seen
    return b"" if may_hold else seen


def _is_in_secret(exchange: Exchange, side: str, start: int, end: int) -> bool:
    """Whether a span has to do with a secret: with its length, too, which patches leave alone."""
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return True
    is_request = side == "request"
    offset = exchange.request_body_offset if is_request else exchange.response_body_offset
    message = _message(exchange, is_request)
    if message is None or not 0 < offset < end or not may_hold_secrets(message):
        return False
    decoded, frame = exchange.bodies()[not is_request], exchange.request if is_request else exchange.response
    if decoded is None or frame is None or not decoded.fits:
        return end - start >= _SHORT
    tree = dissect(message, decoded.version, frame.data, offset)
    hidden = secret_nodes(tree)
    return any(node.start < end and start < node.end for node in tree.walk() if id(node) in hidden)


def _message(exchange: Exchange, is_request: bool) -> Message | None:
    api = None if exchange.api_key is None else registry.api(exchange.api_key)
    if api is None:
        return None
    return api.request if is_request else api.response
