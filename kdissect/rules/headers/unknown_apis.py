"""Rules: APIs and versions that this schema does not know."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange


class UnknownApi(ExchangeRule):
    """An API this schema does not know: newer than it, a vendor's own, or none.

    No judgement: the schema holds every API of Apache Kafka up to its release. Vendors use keys from 10000
    on. Kafka has no negative keys. A broker that does not know the key closes the connection.

    Example: API key 10000.

    What to do: update kdissect if the traffic is newer than its schema.
    """

    code = "HDR010"
    name = "unknown-api"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/004 api_key", "spec/000 Api Keys", "org.apache.kafka.common.protocol.ApiKeys#hasId")
    once = Once.VALUE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return True for keys that no API has."""
        return api_key is not None and protocol_messages.api(api_key) is None

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the key of the request header."""
        key = exchange.api_key
        if exchange.request is not None and key is not None and protocol_messages.api(key) is None:
            origin = "newer than this schema or a vendor's" if key >= 0 else "negative, which no API's is"
            yield Violation("an API of this schema", f"API key {key}, {origin}", start=0, end=2)


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
        """Return whether a version is above the schema's."""
        api = None if api_key is None else protocol_messages.api(api_key)
        return api is not None and api_version is not None and api_version > api.versions.last

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the version of the request header."""
        key, version = exchange.api_key, exchange.api_version
        api = protocol_messages.api(key) if key is not None else None
        if exchange.request is None or api is None or version is None:
            return
        if version > api.versions.last:
            seen = f"{api.name} v{version}, newer than this schema"
            yield Violation(f"at most v{api.versions.last}", seen, start=2, end=4)
