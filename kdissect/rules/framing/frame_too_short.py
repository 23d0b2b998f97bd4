"""FRM004: A frame must hold at least the smallest header."""

from collections.abc import Iterator

from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, ExchangeKind

_MIN_REQUEST, _MIN_RESPONSE = 8, 4  # header v0: key, version, correlation id; correlation id


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
    cites = ("spec/004 Size Constraints", "org.apache.kafka.common.requests.RequestHeader#parse")
    needs_start = True
    needs_whole = True
    overrides = ("HDR001",)
    guard = ExchangeFact.SHORT

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Sizes of both frames."""
        if exchange.kind is ExchangeKind.SASL_TOKEN:
            return
        for side, frame, least in (
            (REQUEST, exchange.request, _MIN_REQUEST),
            (RESPONSE, exchange.response, _MIN_RESPONSE),
        ):
            if frame is not None and frame.size < least:
                yield Violation(
                    f"at least {plural(least, 'byte')}",
                    plural(frame.size, "byte"),
                    side=side,
                    start=0,
                    end=frame.size,
                )
