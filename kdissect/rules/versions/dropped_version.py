"""VER016: A version that Kafka has dropped since."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import BOTH_FRAMES, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange


class DroppedVersion(ExchangeRule):
    """A version that Kafka has dropped since.

    It works with this broker; brokers from the release named on close the connection.

    Example: Fetch v3, gone in 4.0.

    What to do: update the client before the brokers.
    """

    code = "VER016"
    name = "dropped-version"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    needs = BOTH_FRAMES
    cites = ("KIP-896 Proposed Changes", "org.apache.kafka.common.protocol.ApiKeys#isVersionSupported")
    once = Once.SOFTWARE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Versions that are gone."""
        known = history(api_key) if api_key is not None else None
        return known is not None and api_version in known.gone

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """The version against the table of releases."""
        known = history(exchange.api_key) if exchange.api_key is not None else None
        if exchange.response is None or known is None or exchange.request is None:
            return
        if exchange.api_version in known.gone:
            yield Violation(
                "a version of current brokers",
                f"{known.name} v{exchange.api_version}, gone in {known.gone_in}",
                start=2,
                end=4,
            )
