"""FRM005: A connection must not be closed inside a frame."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.model.packets.stream import CloseKind
from kdissect.model.wording import plural
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.kinds import ConnectionRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.schema import protocol_messages


class FrameCutByClose(ConnectionRule):
    """A connection must not be closed inside a frame.

    The end that sent the frame closed before the frame was complete, and no byte is missing from the
    capture: the receiver waits for bytes that never come, and drops what it has.

    Example: a size of 200, 90 bytes, FIN.

    What to do: find out why the sender gave up: a crash, a timeout while sending, a size that is too large.
    """

    code = "FRM005"
    name = "frame-cut-by-close"
    severity = Severity.WARNING
    cites = ("spec/004 Malformed Request Detection",)
    needs_start = True
    needs_whole = True

    def check(self, view: ConnectionView) -> Iterator[Fault]:
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
        yield Fault("a whole frame before the connection ends", what, who=sender)
