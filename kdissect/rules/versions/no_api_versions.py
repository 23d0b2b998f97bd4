"""VER003: A client that does not ask for ApiVersions first."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange

_FIRST = frozenset({18, 17, 36})  # ApiVersions, or SASL


class NoApiVersions(ExchangeRule):
    """A client that does not ask for ApiVersions first.

    Asking is optional: a client may know the broker already, or speak only versions every broker knows.
    Kafka 4 dropped many old versions, and such clients fail there without an error code.

    Example: Metadata v1 as the first request of a connection.

    What to do: ask ApiVersions when a connection opens.
    """

    code = "VER003"
    name = "no-api-versions"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/000 Retrieving Supported API versions",)
    needs_start = True
    once = Once.SOFTWARE
    guard = ExchangeFact.FIRST

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """The first request of the connection."""
        if (
            view.first == exchange.ordinal
            and exchange.ordinal == 0
            and exchange.api_key is not None
            and exchange.api_key not in _FIRST
        ):
            name = protocol_messages.api_name(exchange.api_key) or f"API key {exchange.api_key}"
            yield Violation("ApiVersions first", f"{name} v{exchange.api_version} first", start=0, end=4)
