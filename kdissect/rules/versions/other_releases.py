"""Rules: versions that Kafka does not have yet, or no more."""

from collections.abc import Iterator
from typing import Any

from kdissect.history.api_keys import BETWEEN_BROKERS
from kdissect.model.finding import Claim, Level, Who
from kdissect.model.same import of_same
from kdissect.rules.kinds import BodyRule, ExchangeRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange


class AdvertisedAboveKnown(BodyRule):
    """The broker advertises what this schema does not know.

    No judgement: the broker is newer than the schema, or a vendor's. Bodies in these versions are not read.

    Example: Fetch up to v21.

    What to do: update kdissect.
    """

    code = "VER015"
    name = "advertised-above-known"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/002 3.1 Lowest and highest version",)
    on = (("ApiVersions", RESPONSE),)
    once = Once.VALUE

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the ranges against the schema, with one finding for the list."""
        newer = _newer(body.value)
        if newer:
            yield body.violation(
                "api_keys", "what this schema knows", f"newer than this schema: {', '.join(newer)}"
            )


@of_same
def _newer(answer: Any) -> list[str]:
    found = []
    for entry in answer.api_keys:
        api = protocol_messages.api(entry.api_key)
        if api is None:
            found.append(f"API key {entry.api_key}")
        elif entry.max_version > api.versions.last:
            found.append(f"{api.name} v{entry.max_version}")
    return found


class DroppedVersion(ExchangeRule):
    """A version that Kafka has dropped since.

    It works with this broker. Brokers from the release named on close the connection. APIs that brokers with
    ZooKeeper use among themselves are left out.

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
        """Return whether a version was removed."""
        known = history(api_key) if api_key is not None and api_key not in BETWEEN_BROKERS else None
        return known is not None and api_version in known.gone

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the version against the table of releases."""
        known = history(exchange.api_key) if exchange.api_key is not None else None
        if exchange.response is None or known is None or exchange.request is None:
            return
        if self.concerns(exchange.api_key, exchange.api_version):
            yield Violation(
                "a version of current brokers",
                f"{known.name} v{exchange.api_version}, gone in {known.gone_in}",
                start=2,
                end=4,
            )
