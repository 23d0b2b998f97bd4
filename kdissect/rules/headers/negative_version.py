"""HDR002: an API version must not be negative."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class NegativeVersion(ExchangeRule):
    """An API version must not be negative.

    Brokers cannot answer it in any form and close the connection.

    Example: `00 03 ff ff`: Metadata in version -1.

    What to do: negotiate with ApiVersions; -1 is often the mark of a version that was never set.
    """

    code = "HDR002"
    name = "negative-version"
    who = Who.CLIENT
    cites = ("spec/004 api_version",)
    needs_whole = True
    overrides = ("VER001", "VER014", "VER019", "HDR009", "HDR010")

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Versions below 0."""
        return api_version is not None and api_version < 0

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """The version in the request header."""
        version = exchange.api_version
        if exchange.request is not None and version is not None and version < 0:
            yield Violation("0 or more", str(version), start=2, end=4)
