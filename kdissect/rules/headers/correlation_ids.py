"""Rules: correlation ids of a connection's requests."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import NUMBER_EARLY, ConnectionView
from kdissect.session.exchange import Exchange, State

# Java clients take ids from here on for SASL requests between others (SaslClientAuthenticator).
_FIRST_RESERVED = 2147483640


class ReusedCorrelationId(ExchangeRule):
    """A correlation id must be unique among the requests in flight.

    Two requests of one connection wait for an answer under the same id. The answers come in order, so that
    clients that count may live with it. Clients that look up responses by id mix them up.

    Example: two requests with correlation id 7 before the first is answered.

    What to do: count correlation ids up for each connection.
    """

    code = "HDR008"
    name = "reused-correlation-id"
    who = Who.CLIENT
    cites = ("spec/004 correlation_id",)
    needs_whole = True
    guard = ExchangeFact.ID_NOT_HIGHEST

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the id against the ids of waiting requests when the request is sent."""
        if (
            exchange.request is None
            or exchange.correlation_id is None
            or exchange.state is State.NO_RESPONSE_EXPECTED
        ):
            return
        for earlier in view.in_flight:
            if earlier.correlation_id == exchange.correlation_id and earlier.response is not None:
                seen = f"{exchange.correlation_id}, in flight as request {earlier.ordinal} of the connection"
                yield Violation("an id that no waiting request has", seen, start=4, end=8)
                return


class CorrelationIdOrder(ExchangeRule):
    """Correlation ids should increase.

    Answers are matched by id, in any order of ids. Counting up makes logs and captures readable. The Java
    client numbers a request when it is made and may send it after a later one: for it, and for clients
    without a software name, the rule reports only one id twice in a row.

    Example: id 0 after id 0 on one connection.

    What to do: count up from 0 for each connection.
    """

    code = "HDR009"
    name = "correlation-id-order"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("spec/004 correlation_id",)
    needs_whole = True
    once = Once.SOFTWARE
    guard = ExchangeFact.ID_NOT_HIGHEST

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the id against the one before it, wrap-around and Java's reserved ids excepted."""
        previous, now = view.previous, exchange.correlation_id
        if previous is None or now is None or exchange.request is None:
            return
        before = previous.correlation_id
        if before is None or previous.ordinal > exchange.ordinal:  # it waited for its answer in vain
            return
        numbers_early = exchange.connection.software_name in NUMBER_EARLY
        if before < _FIRST_RESERVED and (now == before or (now < before and not numbers_early)):
            yield Violation(f"more than {before}", str(now), start=4, end=8)
