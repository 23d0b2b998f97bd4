"""VER014: the broker closed right after a request in a version that Kafka dropped."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.rules.views.prompt_close import prompt_close
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange

# Brokers send these to brokers of their own cluster, and leave them when they shut down.
BETWEEN_BROKERS = frozenset({4, 5, 6, 7})


class RefusedByClose(ExchangeRule):
    """The broker closed right after a request in a version that Kafka dropped.

    No ApiVersions answer on this connection tells what the broker takes. Kafka 4 does not answer such
    requests: it closes the connection (spec/004 says UNSUPPORTED_VERSION, which is true of ApiVersions only).
    With acks=0 the records are lost without a word. The bytes do not tell who is at fault: the client is too
    old for a broker of Kafka 4; another broker may advertise the version and not serve it.

    Example: Produce v2, and FIN 2 ms later.

    What to do: ask the broker for ApiVersions with any client. Update the client if the version is not
    listed; otherwise the broker drops what it advertises.
    """

    code = "VER014"
    name = "refused-by-close"
    only_odd = True
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.network.Processor", "spec/004 Malformed Request Detection", "KIP-896")
    needs_whole = True
    shadows = ("PAI005",)

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """A request without an answer, in a version that was dropped."""
        closed, key = prompt_close(exchange), exchange.api_key
        if exchange.response is not None or not closed:
            return
        if key is None or key in BETWEEN_BROKERS or view.advertised is not None:
            return
        known = history(key)
        if known is not None and exchange.api_version in known.gone:
            what = f"{known.name} v{exchange.api_version}, which Kafka dropped in {known.gone_in}"
            yield Fault("a connection that stays open", f"{closed}, to {what}", start=2, end=4, side=REQUEST)
