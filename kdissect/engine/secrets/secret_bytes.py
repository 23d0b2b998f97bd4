"""Overwrites secrets in frames with the same number of bytes, so that everything around them stays
unchanged.
"""

from kdissect.decoders.frame_start import may_be_frame
from kdissect.engine.secrets.patches import FILLER, Patch
from kdissect.engine.secrets.secret_spans import record_patches, secret_spans
from kdissect.model.frame import Frame
from kdissect.schema.logs import METADATA_MARKS
from kdissect.session.exchange import Exchange


def secret_patches(exchange: Exchange, side: str, with_records: bool = True) -> list[Patch]:
    """Return the patches that free one frame of an exchange (`request`, `response`) of secrets. Raises
    nothing.

    Without `with_records` the caller sees to the records. Near secrets (`Exchange.is_near_secrets`) all
    undecodable bytes count as secret.
    """
    frame = exchange.request if side == "request" else exchange.response
    if frame is None:
        return []
    patches = []
    if exchange.is_near_secrets or _is_followed(exchange, side, frame):
        patches = [
            Patch(start, FILLER * (end - start))
            for start, end in secret_spans(exchange, side, frame)
            if any(frame.data[start:end])  # zeros keep no secret, and a reader is to see that they are zeros
        ]
    if with_records and (exchange.is_of_metadata or _may_have_metadata_records(frame)):
        patches += record_patches(exchange, frame)
    return patches


def _is_followed(exchange: Exchange, side: str, frame: Frame) -> bool:
    """Return whether a frame contains another one, because its size was wrong: its content is unknown."""
    if frame.is_cut:
        return True  # perhaps: its tree decides
    decoded = exchange.bodies()[side != "request"]
    if decoded is None or decoded.fits or decoded.error is not None:
        return False
    return may_be_frame(frame.data, decoded.end)


def _may_have_metadata_records(frame: Frame) -> bool:
    """Return whether a mark of metadata records occurs, perhaps by chance: this is cheap."""
    return any(mark in frame.data for mark in METADATA_MARKS)
