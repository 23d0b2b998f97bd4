"""PAI002: responses must come in the order of their requests."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView, Earlier
from kdissect.session.exchange import Exchange


class OutOfOrderResponse(ExchangeRule):
    """Responses must come in the order of their requests.

    A broker handles the requests of a connection one after the other and answers in that order. Clients
    rely on it: the Java client fails when the oldest request is not the one answered.

    A request that is not answered at all puts none of the others out of order: it is PAI015.

    Example: requests 1, 2, 3; responses 1, 3, 2.

    What to do: queue responses for each connection.
    """

    code = "PAI002"
    name = "out-of-order-response"
    who = Who.BROKER
    cites = ("spec/004 Broker Guarantees", "spec/000 Network")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """What pairing noted, where an earlier request was answered later."""
        response = exchange.response
        if response is None or not _is_out_of_order(exchange):
            return
        for earlier in view.in_flight:
            if earlier.ordinal < exchange.ordinal and _is_later(earlier, response.time_ns):
                what = f"answered before request {earlier.ordinal} of the connection"
                yield Violation(
                    "the answer to the oldest request first", what,
                    start=0, end=4, side=RESPONSE, earlier=(view.info.id, earlier.ordinal),
                )  # fmt: skip
                return


def _is_later(earlier: Earlier, time_ns: int) -> bool:
    """Whether a request was answered later than at a time.

    Two answers of one packet have one time. The one to an earlier request is the later one only if it passed
    over none itself: else both may be in order, behind a request that has no answer at all.
    """
    answer = earlier.response
    if answer is None or answer.time_ns != time_ns:
        return answer is not None and answer.time_ns > time_ns
    return isinstance(earlier, Exchange) and not _is_out_of_order(earlier)


def _is_out_of_order(exchange: Exchange) -> bool:
    return any(a.kind is AnomalyKind.OUT_OF_ORDER_RESPONSE for a in exchange.anomalies or ())
