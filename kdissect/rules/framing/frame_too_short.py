"""FRM004: A frame must hold at least the smallest header."""

from collections.abc import Iterator

from kdissect.model.wording import plural
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Fault
from kdissect.session.exchange import Exchange, ExchangeKind

MIN_REQUEST, MIN_RESPONSE = 8, 4  # header v0: key, version, correlation id; correlation id


class FrameTooShort(ExchangeRule):
    """A frame must hold at least the smallest header.

    A request begins with API key, version and correlation id (8 bytes), a response with a correlation id (4
    bytes). Raw SASL tokens are exempt: they may be empty. spec/004 gives 4 bytes for both; shipped Kafka
    needs 8 for requests.

    Example: a request of 3 bytes.

    What to do: check where the size is computed; it counts the bytes behind itself.
    """

    code = "FRM004"
    name = "frame-too-short"
    only_unusual = True
    cites = ("spec/004 Size Constraints", "org.apache.kafka.common.requests.RequestHeader")
    needs_start = True
    needs_whole = True
    shadows = ("HDR001",)

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """By both sizes."""
        request, response = exchange.request, exchange.response
        return (request is not None and request.size < MIN_REQUEST) or (
            response is not None and response.size < MIN_RESPONSE
        )

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """Sizes of both frames."""
        if exchange.kind is ExchangeKind.SASL_TOKEN:
            return
        for side, frame, least in (
            (REQUEST, exchange.request, MIN_REQUEST),
            (RESPONSE, exchange.response, MIN_RESPONSE),
        ):
            if frame is not None and frame.size < least:
                yield Fault(
                    f"at least {plural(least, 'byte')}",
                    plural(frame.size, "byte"),
                    side=side,
                    start=0,
                    end=frame.size,
                )
