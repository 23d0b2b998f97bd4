"""HDR005: A client should name itself in client_id."""

from collections.abc import Iterator

from kdissect.decoders.headers import request_header_version
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class ClientIdMissing(ExchangeRule):
    """A client should name itself in client_id.

    Quotas, logs and metrics of a broker tell clients apart by it. Null and empty are legal.

    Example: a client id of length 0.

    What to do: set `client.id`.
    """

    code = "HDR005"
    name = "client-id-missing"
    only_unusual = True
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("spec/004 client_id", "org.apache.kafka.common.requests.RequestHeader")
    once = Once.CONNECTION

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Without a name, and that was not said yet."""
        return not exchange.client_id and self.code not in view.spoken

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """The client id of a request whose header has one."""
        if exchange.request is None or exchange.api_key is None or exchange.request.is_cut:
            return
        if exchange.client_id in (None, "") and request_header_version(
            exchange.api_key, exchange.api_version or 0
        ):
            yield Fault(
                "a name", "null" if exchange.client_id is None else "an empty string", start=8, end=10
            )
