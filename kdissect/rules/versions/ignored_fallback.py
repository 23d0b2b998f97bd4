"""VER006: after UNSUPPORTED_VERSION a client must ask ApiVersions again in a listed version."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView
from kdissect.session.exchange import Exchange


class IgnoredFallback(ExchangeRule):
    """After UNSUPPORTED_VERSION a client must ask ApiVersions again in a listed version.

    The refused answer lists the ApiVersions versions the broker takes.

    Example: ApiVersions v4 refused with range 0-3, then ApiVersions v4 again.

    What to do: take the highest version of that range.
    """

    code = "VER006"
    name = "ignored-fallback"
    only_unusual = True
    severity = Severity.WARNING
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-511",)
    needs_whole = True

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """ApiVersions alone."""
        return api_key == API_VERSIONS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """ApiVersions against the range of the refusal."""
        listed = view.refused_versions
        version = exchange.api_version
        if listed is None or exchange.api_key != API_VERSIONS or version is None or exchange.request is None:
            return
        if not listed[0] <= version <= listed[1]:
            yield Fault(
                f"version {listed[0]} to {listed[1]}, as the broker listed",
                f"version {version}",
                start=2,
                end=4,
            )
