"""VER003: A client that does not ask for ApiVersions first."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault, Once
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange

FIRST = frozenset({18, 17, 36})  # ApiVersions, or SASL


class NoApiVersions(ExchangeRule):
    """A client that does not ask for ApiVersions first.

    Asking is optional: a client may know the broker already, or speak only versions every broker knows.
    Kafka 4 dropped many old versions, and such clients fail there without an error code.

    Example: Metadata v1 as the first request of a connection.

    What to do: ask ApiVersions when a connection opens.
    """

    code = "VER003"
    name = "no-api-versions"
    only_unusual = True
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/000 Retrieving Supported API versions", "KIP-511")
    needs_start = True
    once = Once.SOFTWARE

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """The first request."""
        return view.first == exchange.ordinal

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """The first request of the connection."""
        if (
            view.first == exchange.ordinal
            and exchange.ordinal == 0
            and exchange.api_key is not None
            and exchange.api_key not in FIRST
        ):
            name = protocol_messages.api_name(exchange.api_key) or f"API key {exchange.api_key}"
            yield Fault("ApiVersions first", f"{name} v{exchange.api_version} first", start=0, end=4)
