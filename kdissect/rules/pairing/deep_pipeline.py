"""PAI006: more Produce requests in flight than Java's default of 5."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, State

_DEFAULT = 5  # max.in.flight.requests.per.connection (ProducerConfig)
_PRODUCE = 0


class DeepPipeline(ExchangeRule):
    """More Produce requests in flight than Java's default of 5.

    Legal: the number is the client's configuration; librdkafka allows a million. With retries and without
    idempotence records may change their order.

    Example: a sixth Produce request before the first is answered.

    What to do: know that order is not kept on retries; set `max.in.flight.requests.per.connection`.
    """

    code = "PAI006"
    name = "deep-pipeline"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "spec/004 Pipelining",
        "org.apache.kafka.clients.producer.ProducerConfig#MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION",
    )
    needs_whole = True
    once = Once.PARTY
    guard = ExchangeFact.MANY_IN_FLIGHT

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Produce alone."""
        return api_key == _PRODUCE

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Produce requests that wait when another is sent."""
        if exchange.api_key != _PRODUCE or exchange.state is not State.COMPLETE:
            return
        waiting = sum(e.api_key == _PRODUCE and e.response is not None for e in view.in_flight) + 1
        if waiting > _DEFAULT:
            yield Violation(f"at most {_DEFAULT}", f"{waiting} in flight", side=REQUEST)
