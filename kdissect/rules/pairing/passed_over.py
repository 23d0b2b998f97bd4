"""PAI015: A request must be answered before the requests after it."""

from collections.abc import Iterator

from kdissect.decoders.quirks import PRODUCE
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class PassedOver(ExchangeRule):
    """A request must be answered before the requests after it.

    This one was not answered to the end of the connection, or of the capture, and a later one was. A broker
    handles the requests of a connection one after the other, so that nothing comes any more. The client waits
    until its timeout and closes. A client that counts takes the next answer for this request's answer.
    Silent where a response came under a correlation id without a waiting request (PAI001, PAI003): it may
    be the answer.

    Example: requests 1, 2, 3; responses 1 and 3.

    What to do: look at what the broker or proxy does with this request. Answer with an error code if it
    cannot respond differently. Only Produce with acks=0 has no answer.
    """

    code = "PAI015"
    name = "request-passed-over"
    who = Who.BROKER
    cites = ("spec/004 Broker Guarantees", "spec/000 Network")
    needs_whole = True
    overrides = ("VER013", "VER014", "VER017", "VER019", "PAI005")
    guard = ExchangeFact.NOT_ANSWERED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the anomalies of pairing for a request, if it expected a response."""
        noted = [a.detail for a in exchange.anomalies or () if a.kind is AnomalyKind.PASSED_OVER]
        if not noted or (exchange.api_key == PRODUCE and exchange.request_summary().acks is None):
            return
        before = view.previous
        if view.info.middle_start and (before is None or before.response is None):
            yield Violation(inconclusive="answers at the beginning of the capture may be missing")
        elif view.info.tcp is not None and view.info.tcp.out_of_order:
            yield Violation(
                inconclusive="packets stand out of order: the answer may stand before its request"
            )
        else:
            expected = "an answer, before those to later requests"
            yield Violation(expected, f"none; {noted[0]}", start=0, end=8, side=REQUEST)
