"""HDR001: A header must have the form of its version."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.headers.frame_readings import body_without_tags, in_words, other_versions
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class MalformedHeader(ExchangeRule):
    """A header must have the form of its version.

    A request header is API key, version, correlation id, client id as a classic nullable string, and a tag
    section where the API version is flexible; a response header is a correlation id and, where flexible,
    a tag section. Nothing behind a header that does not fit can be read.

    Example: a client id of length -5, or one longer than the frame.

    What to do: write the header the API version asks for; the client id is never compact.
    """

    code = "HDR001"
    name = "malformed-header"
    cites = (
        "spec/004 Complete Request Format",
        "spec/004 Header Version Selection",
        "org.apache.kafka.common.requests.RequestHeader#parse",
    )
    needs_whole = True
    overrides = ("HDR005",)  # the client id is what could not be read
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """What the session noted of the header."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.MALFORMED_HEADER:
                response = exchange.response
                is_response = response is not None and anomaly.ref == response.first_ref
                side = RESPONSE if is_response or exchange.request is None else REQUEST
                yield _explained(exchange, side) or Violation(
                    "a header of the API version", anomaly.detail, side=side, start=0, end=16
                )


def _explained(exchange: Exchange, side: str) -> Violation | None:
    """The classic fault, a body where the tag section of its flexible version belongs, or another version."""
    key, version = exchange.api_key, exchange.api_version
    frame = exchange.response if side == RESPONSE else exchange.request
    if frame is None or frame.is_cut or key is None or version is None:
        return None
    offset = body_without_tags(frame.data, key, version, side == RESPONSE)
    if offset is None:
        fitting = other_versions(frame.data, key, version, side == RESPONSE)
        if not fitting:
            return None
        seen = f"header and body are of version {in_words(fitting)}"
        return Violation(f"a header of version {version} of the API", seen, side=side, start=0, end=16)
    behind = "correlation id" if side == RESPONSE else "client id"
    seen = f"none: the body fits right behind the {behind}"
    return Violation("a tag section, as the version is flexible", seen, side=side, start=0, end=offset + 1)
