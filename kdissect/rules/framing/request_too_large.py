"""FRM002: A request should not exceed socket.request.max.bytes, by default 100 MiB."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault
from kdissect.session.exchange import Exchange

LIMIT = 100 << 20  # socket.request.max.bytes (SocketServerConfigs)


class RequestTooLarge(ExchangeRule):
    """A request should not exceed socket.request.max.bytes, by default 100 MiB.

    A broker closes the connection when the size before a request exceeds its limit, without an answer. The
    limit is the broker's configuration, so this is a warning. Responses have no such limit.

    Example: a Produce request with a size of 120,000,000.

    What to do: lower `max.request.size` of the producer, or raise the broker's limit.
    """

    code = "FRM002"
    name = "request-too-large"
    only_unusual = True
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    shadows = ("FRM003",)
    cites = ("spec/004 Size Constraints", "spec/000 Network", "org.apache.kafka.network.SocketServerConfigs")

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """By its size."""
        return exchange.request is not None and exchange.request.size > LIMIT

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """Size of the request's frame."""
        if exchange.request is not None and exchange.request.size > LIMIT:
            yield Fault(f"at most {LIMIT} bytes", plural(exchange.request.size, "byte"), start=0, end=0)
