"""HDR008: A correlation id must be unique among the requests in flight."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, State


class ReusedCorrelationId(ExchangeRule):
    """A correlation id must be unique among the requests in flight.

    Two requests of one connection wait for an answer under the same id. The answers come in order, so that
    clients that count may live with it; those that look answers up by id mix them up.

    Example: two requests with correlation id 7 before the first is answered.

    What to do: count correlation ids up for each connection.
    """

    code = "HDR008"
    name = "reused-correlation-id"
    only_unusual = True
    who = Who.CLIENT
    cites = ("spec/004 correlation_id",)
    needs_whole = True

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Another that waits has the id."""
        if (exchange.correlation_id or -1) > view.highest_id:  # mostly: clients count up
            return False
        for earlier in view.in_flight:  # noqa: SIM110 - a generator costs as much as the look itself
            if earlier.correlation_id == exchange.correlation_id:
                return True
        return False

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """The id against those that wait for an answer when the request is sent."""
        if (
            exchange.request is None
            or exchange.correlation_id is None
            or exchange.state is State.NO_RESPONSE_EXPECTED
        ):
            return
        for earlier in view.in_flight:
            if earlier.correlation_id == exchange.correlation_id and earlier.response is not None:
                seen = f"{exchange.correlation_id}, in flight as request {earlier.ordinal} of the connection"
                yield Fault("an id that no waiting request has", seen, start=4, end=8)
                return
