"""VER011: A version that brokers offer only if unstable versions are enabled."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange


class UnstableVersion(ExchangeRule):
    """A version that brokers offer only if unstable versions are enabled.

    Apache Kafka marks it unstable: its layout may change without a new number.

    Example: InitProducerId v6.

    What to do: do not use it in production.
    """

    code = "VER011"
    name = "unstable-version"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.protocol.ApiKeys#isVersionEnabled",)
    once = Once.SOFTWARE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Unstable versions."""
        known = history(api_key) if api_key is not None else None
        return known is not None and api_version in known.unstable

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the version against the table of releases."""
        known = history(exchange.api_key) if exchange.api_key is not None else None
        if exchange.request is not None and known is not None and exchange.api_version in known.unstable:
            yield Violation("a stable version", f"{known.name} v{exchange.api_version}", start=2, end=4)
