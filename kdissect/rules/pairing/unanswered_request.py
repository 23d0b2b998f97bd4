"""PAI005: the broker closed a connection behind a request that it did not answer."""

from collections.abc import Iterator

from kdissect.history.connections.refused_requests import is_refused_by_close
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, State


class UnansweredRequest(ExchangeRule):
    """The broker closed a connection with a request unanswered.

    Brokers do this when they shut down, when a client fails to authenticate, and for requests they cannot
    read. Worth a look, no judgement. Of a Produce with acks=0, which has no answer, the last one before a
    close within a second is told: Apache Kafka closes so where it cannot store the records, and the client
    takes them for sent.

    Example: a Metadata request, then FIN from the broker.

    What to do: read the broker's log at that time.
    """

    code = "PAI005"
    name = "unanswered-request"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/000 Network", "spec/004 Connection Termination")
    needs_whole = True
    once = Once.SOFTWARE
    guard = ExchangeFact.NOT_ANSWERED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """How the connection of an unanswered request ended."""
        close = exchange.close
        if close is None or close.by != Who.BROKER:
            return
        if exchange.state is State.UNANSWERED:
            yield Violation("an answer", f"{close.how} from the broker", side=REQUEST)
        elif exchange.state is State.NO_RESPONSE_EXPECTED and is_refused_by_close(exchange):
            info = view.info
            if info.exchanges - info.orphan_response == exchange.ordinal + 1:  # the last one
                what = f"{close.how} from the broker, behind acks=0"
                yield Violation("a connection that stays open", what, side=REQUEST)
