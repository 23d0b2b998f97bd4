"""VER010: an ApiVersions v0-2 request has no body."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Once, Violation
from kdissect.rules.views.body_view import body_of
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView
from kdissect.session.exchange import Exchange


class ApiVersionsBody(ExchangeRule):
    """An ApiVersions v0-2 request has no body.

    The array of KIP-35's draft never shipped. librdkafka before KIP-511 sent it empty; brokers ignore the 4
    bytes.

    Example: `00 00 00 00` behind the header of ApiVersions v0.

    What to do: leave the bytes out.
    """

    code = "VER010"
    name = "api-versions-body"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/003 ApiVersions API", "spec/002 1 Request and response")
    once = Once.PARTY

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """ApiVersions alone."""
        return api_key == API_VERSIONS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Bytes behind the header that are a known habit; others are FRM006."""
        if exchange.api_key != API_VERSIONS or exchange.request is None:
            return
        body = body_of(exchange, REQUEST)
        if body is not None and body.error is None and body.end < len(body.data) and body.has_ignorable_tail:
            yield Violation(
                "no body", plural(len(body.data) - body.end, "byte"), start=body.end, end=len(body.data)
            )
