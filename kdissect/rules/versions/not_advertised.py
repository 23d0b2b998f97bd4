"""VER001: A request must be in a version the broker advertised on this connection."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView, is_sent_before
from kdissect.session.exchange import Exchange


def advertised_range(view: ConnectionView, api_key: int) -> tuple[int, int] | None:
    """Return the broker's advertised range of an API on this connection; None without one."""
    return None if view.advertised is None else view.advertised.get(api_key)


class NotAdvertised(ExchangeRule):
    """A request must be in a version the broker advertised on this connection.

    The ApiVersions answer lists what the broker takes. A request outside of it is refused: Apache Kafka
    closes the connection, and answers with UNSUPPORTED_VERSION only to ApiVersions. Only what was sent after
    that answer came is judged.

    Example: Fetch v17 to a broker that advertises 4-16.

    What to do: take the highest version both ends know, for each new connection.
    """

    code = "VER001"
    name = "not-advertised"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "spec/004 api_version",
        "spec/002 3.2 All versions in the MinVersion-MaxVersion",
        "spec/000 Retrieving Supported API versions",
    )
    needs_whole = True
    overrides = ("VER014", "VER019", "PAI005")
    guard = ExchangeFact.NOT_ADVERTISED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the key and version against the last ApiVersions answer of the connection."""
        request, key, version = exchange.request, exchange.api_key, exchange.api_version
        if (
            request is None
            or key is None
            or version is None
            or key == API_VERSIONS
            or view.advertised is None
        ):
            return
        if is_sent_before(request, view.advertised_at):
            return
        found = advertised_range(view, key)
        if found is None:
            yield Violation("an API the broker advertised", f"API key {key}", start=0, end=2)
        elif not found[0] <= version <= found[1] and found[0] <= found[1]:  # other ranges are VER007
            yield Violation(
                f"version {found[0]} to {found[1]}, as advertised", f"version {version}", start=2, end=4
            )
