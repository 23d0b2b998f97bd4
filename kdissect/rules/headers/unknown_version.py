"""HDR011: an API version newer than this schema."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange


class UnknownVersion(ExchangeRule):
    """An API version newer than this schema.

    No judgement: the header is read, the body is left alone, once for each API version. ApiVersions may be
    asked for in any version at all.

    Example: Fetch v99.

    What to do: update kdissect if the traffic is newer than its schema.
    """

    code = "HDR011"
    name = "unknown-version"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/004 api_version", "spec/002 4 Latest common version")
    once = Once.VALUE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Versions above those of the schema."""
        api = None if api_key is None else protocol_messages.api(api_key)
        return api is not None and api_version is not None and api_version > api.versions.last

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """The version of the request header."""
        key, version = exchange.api_key, exchange.api_version
        api = protocol_messages.api(key) if key is not None else None
        if exchange.request is None or api is None or version is None:
            return
        if version > api.versions.last:
            seen = f"{api.name} v{version}, newer than this schema"
            yield Violation(f"at most v{api.versions.last}", seen, start=2, end=4)
