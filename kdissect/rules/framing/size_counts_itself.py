"""FRM007: A frame's size must not count itself."""

from collections.abc import Iterator

from kdissect.decoders.frame_start import SIZE_PREFIX
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_LEAST = {True: 8, False: 4}  # bytes of the smallest request and response (FRM004)
_MOST = 100 << 20  # socket.request.max.bytes (SocketServerConfigs)


class SizeCountsItself(UndecodableRule):
    """A frame's size must not count itself.

    The int32 before each frame says how many bytes follow it. Here the body is whole, and the 4 bytes behind
    it are the size of the next frame. From here on the receiver reads frames where none begin.

    Example: a size of 34 before a request of 30 bytes.

    What to do: write the length of header and body.
    """

    code = "FRM007"
    name = "size-counts-itself"
    cites = (
        "spec/000 Common Request and Response Structure",
        "org.apache.kafka.common.network.NetworkReceive#readFrom",
    )
    kinds = frozenset({FaultKind.LEFT_OVER})
    needs_whole = False  # the body fits; what is behind it may be passed over as no frame

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Four bytes behind the body that are a size."""
        end = len(body.data)
        following = int.from_bytes(body.data[body.end :], signed=True)
        if end - body.end == SIZE_PREFIX and _LEAST[body.side == REQUEST] <= following <= _MOST:
            yield Violation(
                f"a size of {body.end}",
                f"{end}, 4 more: behind the body stands the size of the next frame, {following}",
                start=body.end, end=end, side=body.side,
            )  # fmt: skip
