"""A frame whose size seems to be off by one, stored until later bytes prove it.

A size that is one too large takes the first byte of the next frame's size into its frame. A size that is one
too small leaves the last byte of its body to the next frame. Either way the next frame is read one byte off,
and is none. That byte, moved to its right place, must complete a whole body and a frame after it.
"""

from kdissect.decoders.bodies import request_fits, response_fits
from kdissect.decoders.frame_start import SIZE_PREFIX
from kdissect.model.finding import Who
from kdissect.rules.rule import REQUEST
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.doubt import is_sound
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange

_LEAST = {True: 8, False: 4}  # bytes of the smallest request and response (FRM004)
_MOST = 100 << 20  # socket.request.max.bytes (SocketServerConfigs)
_KEPT = 4096  # bytes of a stored frame, which is tested for whether one byte more completes it
_NEEDED = 12  # bytes after the frame that are needed: the byte in question, a size, key and version


class MisplacedEnd:
    """A frame with one byte after its body, or one whose body runs past its end.

    `stated` says what is wrong with its size once it is proven. `is_over`: no proof will come any more.
    """

    __slots__ = ("_data", "_following", "_place", "_size", "_what", "is_over", "ordinal", "stated", "who")

    def __init__(self, body: Body) -> None:
        is_request = body.side == REQUEST
        left = body.data[body.end :] if body.error is None else b""
        self._data = body.data if body.error is not None else b""
        self._following = left
        self._place = is_request, body.offset, body.api.key, body.version
        self.ordinal = body.exchange.ordinal
        self._size = body.frame.size
        self._what = f"{body.api.name} {body.side} {self.ordinal}"
        self.who = Who.CLIENT if is_request else Who.BROKER
        self.is_over = len(left) > 1 or len(self._data) > _KEPT
        self.stated = ""

    def hear(self, exchange: Exchange) -> None:
        """Take the next exchange of the connection, which was judged."""
        is_request = self._place[0]
        frame = exchange.request if is_request else exchange.response
        if self.is_over or frame is None or exchange.ordinal == self.ordinal:
            return
        if is_sound(exchange, is_request=is_request):
            self.is_over = True  # frames are read from where they begin
            return
        self._following += frame.size.to_bytes(SIZE_PREFIX) + frame.data[:_NEEDED]
        if self._data:
            self._look_for_missing()
        elif self._is_frame(self._following):
            self._tell(self._size - 1, "the last byte of the frame is the first of the next size")
        self.is_over = self.is_over or len(self._following) >= _NEEDED

    def _look_for_missing(self) -> None:
        """Look for a missing byte: the first following byte ends the body, and after it a frame begins.

        An empty one is none: its zeros are that byte, and the first three of a size below 256.
        """
        behind = self._following[1:]
        is_shifted = self._is_frame(behind) or not any(self._following)
        if is_shifted and self._fits(self._data + self._following[:1]):
            self._tell(self._size + 1, "the byte after the frame ends its body")

    def _tell(self, right: int, why: str) -> None:
        self.stated = f"{self._what} has the size {self._size} instead of {right}: {why}"
        self.is_over = True

    def _fits(self, data: bytes) -> bool:
        is_request, offset, key, version = self._place
        return request_fits(data, offset, key, version) if is_request else response_fits(data, key, version)

    def _is_frame(self, data: bytes) -> bool:
        """Return whether there is a size at the beginning, and after it the beginning of a request."""
        is_request = self._place[0]
        size = int.from_bytes(data[:SIZE_PREFIX], signed=True)
        if len(data) < SIZE_PREFIX or not _LEAST[is_request] <= size <= _MOST:
            return False
        if not is_request:
            return True
        api = protocol_messages.api(int.from_bytes(data[4:6], signed=True))
        return len(data) >= 8 and api is not None and int.from_bytes(data[6:8], signed=True) in api.versions
