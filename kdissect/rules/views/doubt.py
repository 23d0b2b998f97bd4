"""Doubt about where the frames of a direction begin, after one that is not what its sender has to send.

A wrong size, or bytes that belong to no frame, make a reader cut the stream in wrong places: later readings
are not the sender's faults, and requests that it does not see were sent all the same. So the first fault is
the finding. Later exchanges are judged again once a sound frame shows that frames are read from their true
starts.
"""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.finding import Who
from kdissect.model.packets.packet import is_before
from kdissect.model.packets.stream import CloseKind
from kdissect.rules.findings import Key
from kdissect.rules.rule import RESPONSE
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import Close

_NO_HEADER = (AnomalyKind.MALFORMED_HEADER, AnomalyKind.UNKNOWN_API, AnomalyKind.UNKNOWN_VERSION)
_MILLISECOND_NS = 1_000_000
_LEAST = {True: 8, False: 4}  # bytes of the smallest request and response (FRM004)


class Doubt:
    """The last doubt of a connection.

    `who` sent the frame in question, in exchange `ordinal`, until packet `last_ref`. `is_open` until a sound
    frame of `who` comes; `is_proven` if the next frame is none: else the first may be wrong in itself alone.
    `hides_facts`: exchanges of the connection may have been misread, and histories do not know of them.
    `is_last`: the client sent no request after the frame. `said` are the keys of the findings about it.
    """

    __slots__ = (
        "bad_size", "end_ns", "hides_facts", "is_last", "is_open", "is_proven", "last_ref", "ordinal",
        "said", "who",
    )  # fmt: skip

    def __init__(self, who: Who, exchange: Exchange, before: Doubt | None = None) -> None:
        frame = exchange.request if who is Who.CLIENT else exchange.response
        self.who = who
        self.ordinal = exchange.ordinal
        self.last_ref = 0 if frame is None else frame.last_ref
        self.end_ns = 0 if frame is None else frame.end_time_ns
        self.said: list[Key] = []
        self.is_last = True
        self.is_open = True
        self.is_proven = False
        self.hides_facts: bool = before is not None and before.hides_facts
        self.bad_size: Anomaly | None = None if before is None else before.bad_size

    def hear(self, exchange: Exchange, anomalies: Sequence[Anomaly], direction: int) -> bool:
        """Look at the next exchange, and return whether the doubt is over.

        `anomalies` are the connection's, `direction` is `who`'s.
        """
        if exchange.ordinal == self.ordinal:
            return False
        request = exchange.request
        if request is not None and is_before(
            (self.last_ref, self.end_ns), (request.last_ref, request.end_time_ns)
        ):
            self.is_last = False
        is_request = self.who is Who.CLIENT
        found = is_sound(exchange, is_request=is_request)
        if found is False:
            self.is_proven = self.hides_facts = True
        frame = exchange.request if is_request else exchange.response
        if found and frame is not None:
            self.bad_size = self.bad_size or self._first_bad_size(anomalies, direction, frame.first_ref)
            self.is_open = self.is_proven = False
        return not self.is_open

    def hides(self, exchange: Exchange, who: Who, side: str) -> bool:
        """Return whether the frame in question may explain a fault of `who`, on a side of another
        exchange.
        """
        if exchange.ordinal == self.ordinal or not self.is_open:
            return False
        if self.who is Who.CLIENT:
            return self.is_proven or exchange.state is State.ORPHAN_RESPONSE
        return self.is_proven and (who is Who.BROKER or side == RESPONSE)

    def silence(self, close: Close | None) -> str:
        """Return that the client sent no more requests after a response, or an empty text if it did, or if
        that is unknown.
        """
        if self.who is Who.CLIENT or not self.is_open or not self.is_last:
            return ""
        silent = "the client sends no more requests on the connection"
        if close is None or close.by is None:
            return f"{silent} to the end of the capture" if _is_capture_end(close) else ""
        after_ns = close.time_ns - self.end_ns
        when = f" {after_ns / _MILLISECOND_NS:.1f} ms after the response" if after_ns >= 0 else ""
        return f"{silent}; the {close.by} closes it ({close.how}){when}"

    def explains_size(self, anomaly: Anomaly, direction: int) -> bool:
        """Return whether an implausible size was read from a wrong position. `direction` is `who`'s."""
        if self.bad_size is None and self.is_open and anomaly.direction == direction:
            return anomaly.ref >= self.last_ref
        return anomaly == self.bad_size

    def _first_bad_size(self, anomalies: Sequence[Anomaly], direction: int, until_ref: int) -> Anomaly | None:
        first = next((one for one in anomalies if one.kind is AnomalyKind.BAD_FRAME_SIZE), None)
        if first is None or first.direction != direction:
            return None
        return first if self.last_ref <= first.ref <= until_ref else None


def _is_capture_end(close: Close | None) -> bool:
    return close is None or close.how is CloseKind.CAPTURE_END


def has_no_header(exchange: Exchange) -> bool:
    """Return whether a request begins with no header, or with an API or version that the schema does not
    know.
    """
    return any(one.kind in _NO_HEADER for one in exchange.anomalies or ())


def is_sound(exchange: Exchange, *, is_request: bool) -> bool | None:
    """Return whether a frame is sound: its body fits, and a response has its request.

    False if its header is not one that this sender has to send; None if that is unknown.
    """
    frame = exchange.request if is_request else exchange.response
    if frame is None or exchange.kind is not ExchangeKind.KAFKA:
        return None
    if frame.size < _LEAST[is_request] or (not is_request and exchange.state is State.ORPHAN_RESPONSE):
        return False
    if is_request and has_no_header(exchange):
        return False
    if frame.is_cut:
        return None
    found = exchange.bodies()[not is_request]
    return True if found is not None and found.fits else None
