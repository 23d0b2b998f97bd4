"""PAI002: responses must come in the order of their requests."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange


class OutOfOrderResponse(ExchangeRule):
    """Responses must come in the order of their requests.

    A broker handles the requests of a connection one after the other and answers in that order. Clients
    rely on it: the Java client fails when the oldest request is not the one answered.

    A request that is not answered at all, while a later one is, is told once, with the first of those that
    follow.

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
        """What pairing noted, where an earlier answer came later, or the one before never came."""
        response = exchange.response
        if response is None or not _is_out_of_order(exchange):
            return
        at_ns = response.time_ns
        answers = [(e.ordinal, e.response) for e in view.in_flight if e.ordinal < exchange.ordinal]
        overtaken = [n for n, answer in answers if answer is not None and answer.time_ns >= at_ns]
        if overtaken:
            what = f"answered before request {overtaken[0]} of the connection"
            yield self._violation(what, view, overtaken[0])
            return
        before = view.previous
        if before is None or before.response is None or before.ordinal + 1 < exchange.ordinal:
            lost = exchange.ordinal - 1  # nobody saw it, after a thousand others, where it is not `before`
            key = before.api_key if before is not None and before.ordinal == lost else None
            api = None if key is None else api_name(key)
            yield self._violation(f"request {lost} {f'({api}) ' if api else ''}has no answer", view, lost)

    def _violation(self, what: str, view: ConnectionView, earlier: int) -> Violation:
        expected = "the answer to the oldest request first"
        return Violation(expected, what, start=0, end=4, side=RESPONSE, earlier=(view.info.id, earlier))


def _is_out_of_order(exchange: Exchange) -> bool:
    return any(a.kind is AnomalyKind.OUT_OF_ORDER_RESPONSE for a in exchange.anomalies or ())
