"""Which bytes of a frame are shown: none that may be a password or a token.

A frame that decodes says which of its fields are secret. A frame near secrets (`Exchange.is_near_secrets`)
that does not fit may have them anywhere: only pieces that are too short for a secret remain visible.
"""

from kdissect.decoders.trees.masking import secret_nodes
from kdissect.engine.secrets.patches import patched
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.engine.secrets.secret_spans import frame_tree
from kdissect.model.finding import EVIDENCE_BYTES
from kdissect.session.exchange import Exchange, ExchangeKind

# Fewer bytes reveal no secret: an empty tag section, a boolean, a piece of a length.
_SHORT = 4


def shown_bytes(exchange: Exchange, side: str, start: int, end: int) -> bytes:
    """Return the first `EVIDENCE_BYTES` from `start` to `end` of a frame's content, or no bytes if they may
    contain a secret. Raises nothing.
    """
    frame = exchange.request if side == "request" else exchange.response
    if frame is None or end <= start or _is_in_secret(exchange, side, start, end):
        return b""
    end = min(end, start + EVIDENCE_BYTES)
    seen = frame.data[start:end]
    may_hold = len(seen) >= _SHORT and patched(frame.data, secret_patches(exchange, side), start, end) != seen
    return b"" if may_hold else seen


def shown_frame(exchange: Exchange, side: str, show_secrets: bool = False) -> bytes | None:
    """Return a frame as on the wire, its size first, as far as it was captured. Raises nothing.

    None if no byte of it was captured: a request log has none. Other bytes replace secrets, unless
    `show_secrets` is set.
    """
    frame = exchange.request if side == "request" else exchange.response
    if frame is None or not frame.data or frame.logged is not None:
        return None
    return wire_bytes(exchange, side, show_secrets)


def wire_bytes(exchange: Exchange, side: str, show_secrets: bool) -> bytes:
    """Return the bytes of a frame that is there, also if it was built from a request log."""
    frame = exchange.request if side == "request" else exchange.response
    assert frame is not None
    patches = [] if show_secrets else secret_patches(exchange, side)
    return frame.size.to_bytes(4) + patched(frame.data, patches)


def _is_in_secret(exchange: Exchange, side: str, start: int, end: int) -> bool:
    """Return whether a span has to do with a secret: with its length, too, which patches leave alone."""
    if not exchange.is_near_secrets:
        return False
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return True
    frame = exchange.request if side == "request" else exchange.response
    tree = None if frame is None else frame_tree(exchange, side, frame)
    if tree is None or tree.error is not None:
        offset = exchange.request_body_offset if side == "request" else exchange.response_body_offset
        return end - start >= _SHORT and end > offset
    hidden = secret_nodes(tree)
    return any(node.start < end and start < node.end for node in tree.walk() if id(node) in hidden)
