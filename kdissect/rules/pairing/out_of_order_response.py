"""PAI002: responses must come in the order of their requests."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.rule import RESPONSE, ExchangeRule, Fault
from kdissect.session.exchange import Exchange


class OutOfOrderResponse(ExchangeRule):
    """Responses must come in the order of their requests.

    A broker handles the requests of a connection one after the other and answers in that order. Clients
    rely on it: the Java client fails when the oldest request is not the one answered.

    Example: requests 1, 2, 3; responses 1, 3, 2.

    What to do: queue responses for each connection.
    """

    code = "PAI002"
    name = "out-of-order-response"
    only_odd = True
    who = Who.BROKER
    cites = ("spec/004 Broker Guarantees", "spec/000 Network")
    needs_whole = True

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """What pairing noted."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.OUT_OF_ORDER_RESPONSE:
                yield Fault(
                    "the answer to the oldest request first", anomaly.detail, start=0, end=4, side=RESPONSE
                )
