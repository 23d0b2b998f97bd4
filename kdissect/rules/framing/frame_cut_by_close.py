"""FRM005: A connection must not be closed inside a frame."""

from collections.abc import Iterator

from kdissect.decoders.bodies import request_fits, response_fits
from kdissect.decoders.frame_start import SIZE_PREFIX
from kdissect.model.finding import Severity, Who
from kdissect.model.packets.stream import CloseKind
from kdissect.model.wording import plural
from kdissect.rules.kinds import ConnectionRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange

_TOO_LARGE = {SIZE_PREFIX: "the size counts its own 4 bytes", 1: "the size is 1 too large"}


class FrameCutByClose(ConnectionRule):
    """A connection must not be closed inside a frame.

    The end that sent the frame closed before the frame was complete, and no byte is missing from the
    capture: the receiver waits for bytes that never come, and drops what it has.

    Example: a size of 200, 90 bytes, FIN.

    What to do: find out why the sender gave up: a crash, a timeout while sending, a size that is too large.
    A size that counts itself makes the receiver wait for 4 bytes too many, one that is off by one for 1.
    """

    code = "FRM005"
    name = "frame-cut-by-close"
    severity = Severity.WARNING
    cites = ("spec/004 Malformed Request Detection",)
    needs_start = True
    needs_whole = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """The last frame, if it was cut by its own sender."""
        close = view.info.close
        if view.cut is None or close is None or close.how not in (CloseKind.FIN, CloseKind.RST):
            return
        exchange, side = view.cut
        frame = exchange.request if side == REQUEST else exchange.response
        sender = Who.CLIENT if side == REQUEST else Who.BROKER
        if frame is None or close.by != sender:
            return
        api = protocol_messages.api_name(exchange.api_key) if exchange.api_key is not None else None
        held = f"{len(frame.data)} of {plural(frame.size, 'byte')}"
        what = f"{held} of {api or 'a'} {side} {exchange.ordinal}, then {close.how}"
        why = _TOO_LARGE.get(frame.size - len(frame.data))
        if why is not None and _is_whole(exchange, side):
            what += f"; it is whole: {why}"
        yield Violation("a whole frame before the connection ends", what, who=sender)


def _is_whole(exchange: Exchange, side: str) -> bool:
    """Whether what came of a frame is one to its last byte."""
    frame = exchange.request if side == REQUEST else exchange.response
    key, version = exchange.api_key, exchange.api_version
    if frame is None or key is None or version is None:
        return False
    if side == REQUEST:
        return request_fits(frame.data, exchange.request_body_offset, key, version)
    return response_fits(frame.data, key, version)
