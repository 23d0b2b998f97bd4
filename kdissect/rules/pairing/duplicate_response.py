"""PAI003: A request must be answered once."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class DuplicateResponse(ExchangeRule):
    """A request must be answered once.

    A second response carries the correlation id of a request that was answered. Clients take it for the
    answer to the next request and close the connection.

    Example: two responses with id 5 to one request.

    What to do: look for a retry inside the broker or proxy that answers twice.
    """

    code = "PAI003"
    name = "duplicate-response"
    who = Who.BROKER
    cites = ("spec/000 Network", "org.apache.kafka.clients.InFlightRequests#completeNext")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """What pairing noted."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.DUPLICATE_RESPONSE:
                yield Violation("one answer for each request", anomaly.detail, start=0, end=4, side=RESPONSE)
