"""PAI005: the broker closed a connection with a request unanswered."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, State


class UnansweredRequest(ExchangeRule):
    """The broker closed a connection with a request unanswered.

    Brokers do this when they shut down, when a client fails to authenticate, and for requests they cannot
    read. Worth a look, no judgement.

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
        if exchange.state is State.UNANSWERED and close is not None and close.by == Who.BROKER:
            yield Violation("an answer", f"{close.how} from the broker", side=REQUEST)
