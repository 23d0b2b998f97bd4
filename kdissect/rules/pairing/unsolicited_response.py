"""PAI001: every response must answer a request of its connection, with that request's correlation id."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class UnsolicitedResponse(ExchangeRule):
    """Every response must answer a request of its connection, with that request's correlation id.

    The client starts every exchange; the broker echoes the correlation id. This response has an id that no
    request of the connection had.

    Example: ids 1 and 2 are asked for, 1 and 77 answered.

    What to do: look at how the broker or proxy keeps the id; clients close the connection on a mismatch.
    """

    code = "PAI001"
    name = "unsolicited-response"
    who = Who.BROKER
    cites = (
        "spec/004 correlation_id",
        "spec/000 Network",
        "org.apache.kafka.common.requests.AbstractResponse#parseResponse",
    )
    needs_start = True
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """What pairing noted."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.ORPHAN_RESPONSE:
                yield Violation(
                    "the correlation id of a request that waits",
                    anomaly.detail,
                    start=0,
                    end=4,
                    side=RESPONSE,
                )
