"""Rules: whether clients send ApiVersions, and the response to a version that the broker does not know."""

from collections.abc import Iterator

from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import BodyRule, ExchangeRule, UndecodableRule
from kdissect.rules.rule import RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import (
    API_VERSIONS,
    UNSUPPORTED_VERSION,
    ConnectionView,
    is_sent_before,
)
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import api_name
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
    needs_whole = True
    once = Once.SOFTWARE
    guard = ExchangeFact.FIRST

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the first request of the connection."""
        if (
            view.first == exchange.ordinal
            and exchange.ordinal == 0
            and exchange.api_key is not None
            and exchange.api_key not in _FIRST
        ):
            name = protocol_messages.api_name(exchange.api_key) or f"API key {exchange.api_key}"
            yield Violation("ApiVersions first", f"{name} v{exchange.api_version} first", start=0, end=4)


class BadFallback(UndecodableRule):
    """An ApiVersions version the broker does not know must be answered in version 0 with error 35.

    The client cannot read anything else: it does not know yet what the broker speaks. Since KIP-511 the
    body also lists the ApiVersions range.

    Example: error 35 in the layout of version 3.

    What to do: answer unknown ApiVersions versions with a version 0 body.
    """

    code = "VER004"
    name = "bad-api-versions-fallback"
    who = Who.BROKER
    cites = (
        "KIP-511 Proposed Changes",
        "org.apache.kafka.common.requests.ApiVersionsRequest#getErrorResponse",
    )
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Yield an ApiVersions body with error 35 that fits neither version."""
        if body.api.key != API_VERSIONS or body.side != RESPONSE:
            return
        if int.from_bytes(body.data[body.offset : body.offset + 2]) == UNSUPPORTED_VERSION:
            yield _as_version_0(body)


def _as_version_0(body: Body) -> Violation:
    """Return where the bytes stop to be the body of version 0 that they should be."""
    data = body.data
    root = dissect(body.message, 0, data, body.offset)
    wrong = root.error or DecodeError("", root.end, f"{plural(len(data) - root.end, 'byte')} left over")
    path = wrong.path.partition(".")[2]
    seen = f"as version 0, {path}: {wrong.why}" if path else f"as version 0, {wrong.why}"
    return Violation("a version 0 body", seen, path, wrong.offset, len(data), RESPONSE)


class FallbackInRequestVersion(BodyRule):
    """UNSUPPORTED_VERSION to ApiVersions must come in version 0, and name the ApiVersions range.

    A client that asked in a version the broker does not know can only rely on version 0.

    Example: error 35 in a body of version 3, or in version 0 with other APIs but not key 18.

    What to do: answer with version 0 and at least the entry of ApiVersions. Brokers before 2.4 list nothing.
    """

    code = "VER005"
    name = "fallback-in-request-version"
    who = Who.BROKER
    cites = (
        "KIP-511 Proposed Changes",
        "org.apache.kafka.common.requests.ApiVersionsRequest#getErrorResponse",
    )
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the version and list of an answer with error 35."""
        if body.value.error_code != UNSUPPORTED_VERSION:
            return
        asked = body.exchange.api_version
        if asked != 0 and body.version != 0:
            yield body.violation("error_code", "a body of version 0", f"a body of version {body.version}")
        elif body.value.api_keys and all(key.api_key != API_VERSIONS for key in body.value.api_keys):
            yield body.violation("api_keys", "the range of ApiVersions", "a list without key 18")


class IgnoredFallback(ExchangeRule):
    """After UNSUPPORTED_VERSION a client must ask ApiVersions again in a listed version.

    The refused answer lists the ApiVersions versions the broker takes. The response of a broker before 2.4
    lists no versions, and version 0 is right (KIP-511). A client that goes on with another request guesses
    what the broker speaks. Only what was sent after the refusal came is judged.

    Example: ApiVersions v4 refused with range 0-3, then ApiVersions v4 again, or Metadata.

    What to do: take the highest version of that range, version 0 without one.
    """

    code = "VER006"
    name = "ignored-fallback"
    severity = Severity.WARNING
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-511 Proposed Changes", "org.apache.kafka.clients.NetworkClient#handleApiVersionsResponse")
    needs_whole = True
    guard = ExchangeFact.VERSIONS_REFUSED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the next request against the refusal."""
        refusal, request, version = view.refusal, exchange.request, exchange.api_version
        if refusal is None or request is None or version is None or is_sent_before(request, refusal.first):
            return
        listed = refusal.versions
        if exchange.api_key != API_VERSIONS:
            if (
                view.advertised is None
                and view.previous is not None
                and view.previous.ordinal == refusal.ordinal
            ):
                what = f"{api_name(exchange.api_key or 0) or f'API key {exchange.api_key}'} v{version}"
                yield Violation("ApiVersions again", what, start=0, end=4)
        elif not listed:
            if version:
                yield Violation("version 0: the broker listed none", f"version {version}", start=2, end=4)
        elif not listed[0] <= version <= listed[1]:
            expected = f"version {listed[0]} to {listed[1]}, as the broker listed"
            yield Violation(expected, f"version {version}", start=2, end=4)
