"""VER014: the broker closed right after a request in a version it may not know."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.rule import ExchangeRule, Fault
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange, State

# Brokers send these to brokers of their own cluster, and leave them when they shut down.
BETWEEN_BROKERS = frozenset({4, 5, 6, 7})
PROMPT_MS = 1000  # a later close has causes of its own


class RefusedByClose(ExchangeRule):
    """The broker closed right after a request in a version it may not know.

    No ApiVersions answer on this connection tells what the broker takes, and the version is one that Kafka
    dropped. Kafka 4 does not answer such requests: it closes the connection (spec/004 says
    UNSUPPORTED_VERSION, which is true of ApiVersions only).

    Example: Produce v2, and FIN 2 ms later.

    What to do: update the client.
    """

    code = "VER014"
    name = "refused-by-close"
    only_odd = True
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.network.Processor", "spec/004 Malformed Request Detection", "KIP-896")
    needs_whole = True
    shadows = ("PAI005",)

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """An unanswered request in a version that was dropped."""
        close, key, request = exchange.close, exchange.api_key, exchange.request
        if exchange.state is not State.UNANSWERED or close is None or close.by != Who.BROKER:
            return
        if key is None or key in BETWEEN_BROKERS or request is None or view.advertised is not None:
            return
        known = history(key)
        after = (close.time_ns - request.end_time_ns) / 1e6
        if known is not None and exchange.api_version in known.gone and after <= PROMPT_MS:
            what = f"{known.name} v{exchange.api_version}, gone in {known.gone_in}"
            yield Fault(
                "a version the broker knows", f"{what}; {close.how} after {after:.1f} ms", start=2, end=4
            )
