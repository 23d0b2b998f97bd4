"""Rules: a broker that closes the connection right after a request."""

from collections.abc import Iterator

from kdissect.history.api_keys import BETWEEN_BROKERS
from kdissect.history.connections.refused_requests import (
    RefusalFact,
    is_first_of_kind,
    promptly_closed_ns,
)
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule, FactRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.versions.not_advertised import advertised_range
from kdissect.rules.views.connection_view import UNSUPPORTED_VERSION, ConnectionView
from kdissect.schema.releases import history
from kdissect.session.exchange import Exchange

_PRODUCE = 0
_FIRST_TAKEN = 3  # by Kafka 4 (KIP-896)
_LAST_BEFORE_4 = 11  # Kafka 4.0 brought Produce v12 (KIP-890)


def _prompt_close(exchange: Exchange) -> str:
    """Return how, and how soon: `fin after 2.0 ms`; empty where the broker did not close, or later."""
    after_ns = promptly_closed_ns(exchange)
    if after_ns is None or exchange.close is None:
        return ""
    return f"{exchange.close.how} after {after_ns / 1e6:.1f} ms"


class OldProduceRefused(ExchangeRule):
    """The broker advertises Produce v0 to v2, and refuses them.

    Kafka 4 names Produce from v0 on for the sake of librdkafka, takes v3 and later, and closes the connection
    on others (KAFKA-18659). A client that trusts what was advertised loses its connection, and with acks=0
    its records, without a word. Reported only for a request in such a version that the broker refused, or
    after which it closed within a second.

    Example: Produce 0-13 is advertised; Produce v2 is followed by FIN.

    What to do: update the client. A client that must stay old can leave Produce v0 to v2 out by itself.
    """

    code = "VER017"
    name = "old-produce-refused"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "KAFKA-18659",
        "org.apache.kafka.common.protocol.ApiKeys#toApiVersionForApiResponse",
        "spec/002 7 Connection closure",
    )
    needs_whole = True
    overrides = ("VER013", "VER014", "VER019", "PAI005")

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Produce v0 to v2."""
        return api_key == _PRODUCE and api_version is not None and 0 <= api_version < _FIRST_TAKEN

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the advertised range, and the result of the request."""
        found, version = advertised_range(view, _PRODUCE), exchange.api_version
        if found is None or version is None or not self.concerns(exchange.api_key, version):
            return
        if found[1] <= _LAST_BEFORE_4 or not found[0] <= version or exchange.request is None:
            return
        refusal = _refusal(exchange)
        if refusal:
            what = f"Produce v{version} is advertised ({found[0]} to {found[1]})"
            yield Violation(
                "advertised versions are accepted", f"{what}; {refusal}", start=2, end=4, side=REQUEST
            )


def _refusal(exchange: Exchange) -> str:
    """Return how the broker refused, or an empty text."""
    if exchange.response is None:
        return _prompt_close(exchange)
    errors = exchange.response_summary().errors
    return "UNSUPPORTED_VERSION" if UNSUPPORTED_VERSION in errors else ""


class AdvertisedButDropped(FactRule):
    """A request in an advertised version must be answered.

    The broker advertised the API and version on the connection, the request fits the schema, and the broker
    closed the connection without an answer: three times or more in a row, each on a connection of its own.
    KIP-35: what is advertised must not cost the client its connection. One close proves nothing: brokers
    crash, and what stands between resets connections. So a version that was answered before on the connection
    is left out. So are requests after a request that waits or wants no answer, SaslAuthenticate,
    envelopes, APIs that wait on purpose, and a client that may lack a login, because the broker answered
    only ApiVersions: VER019 counts them.

    Example: DescribeLogDirs v4 is advertised. Each time the request is followed by FIN.

    What to do: answer with an error code, or do not advertise the version.
    """

    code = "VER013"
    name = "advertised-but-dropped"
    who = Who.BROKER
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    cites = ("spec/002 3.2 All versions in the MinVersion-MaxVersion", "spec/002 7 Connection closure")
    needs_start = True
    needs_whole = True
    facts = (RefusalFact.ADVERTISED_CLOSED,)
    expects = "an answer: the version is advertised"


class RefusedByClose(ExchangeRule):
    """The broker closed right after a request in a version that Kafka dropped.

    No ApiVersions answer on this connection lists what the broker accepts. Kafka 4 does not answer such
    requests: it closes the connection (spec/004 says UNSUPPORTED_VERSION, which is true of ApiVersions only).
    With acks=0 the records are lost without a word. The bytes do not show which end is at fault: the
    client is too old for a broker of Kafka 4, or another broker may advertise the version and not serve
    it. A version that may have been answered before on the connection is left out.

    Example: Produce v2, and FIN 2 ms later.

    What to do: ask the broker for ApiVersions with any client. Update the client if the version is not
    listed. If it is, the broker drops what it advertises.
    """

    code = "VER014"
    name = "refused-by-close"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "kafka.network.Processor#processCompletedReceives",
        "org.apache.kafka.network.Processor#parseRequestHeader",
        "KIP-896 Proposed Changes",
    )
    needs_whole = True
    overrides = ("VER019", "PAI005")
    guard = ExchangeFact.NOT_ANSWERED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield a request without an answer, in a version that was dropped."""
        closed, key = _prompt_close(exchange), exchange.api_key
        if exchange.response is not None or not closed:
            return
        if key is None or key in BETWEEN_BROKERS or view.advertised is not None:
            return
        if not is_first_of_kind(exchange):
            return
        known = history(key)
        if known is not None and exchange.api_version in known.gone:
            what = f"{known.name} v{exchange.api_version}, which Kafka dropped in {known.gone_in}"
            yield Violation(
                "an answer, if the broker has the version",
                f"{closed}, to {what}",
                start=2,
                end=4,
                side=REQUEST,
            )


class ClosedAgain(FactRule):
    """The broker closes each time behind the same request.

    A client asked, the broker closed within a second and did not answer, the client came back within a
    minute, and so on, three times or more: whatever the API, the version and the broker are. One close
    proves little, for brokers shut down. This broker runs, and accepts new connections. What may have been
    answered before on the same connection is left out. The bytes do not show which end is at fault. A
    broker that does not know the version closes, and so does a listener with SASL at what comes before a
    login. Apache Kafka closes after a Produce with acks=0 that it cannot store: the records are lost, and
    the client takes them for sent.

    Example: FindCoordinator v1 to a broker of Kafka 0.10.2, and FIN, 11 times.

    What to do: read the broker's log. Ask the broker with any client for ApiVersions, and compare.
    """

    code = "VER019"
    name = "closed-again"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "kafka.network.Processor#processCompletedReceives",
        "org.apache.kafka.network.Processor#parseRequestHeader",
    )
    facts = (RefusalFact.CLOSED_AGAIN, RefusalFact.CLOSED_BEFORE_LOGIN)
    expects = "an answer, if the broker has the version and the client may ask"


class RefusedVersionAgain(FactRule):
    """A client should not repeat a version that the broker answered with UNSUPPORTED_VERSION.

    Each time on a new connection ApiVersions is requested in a version that the broker refuses, three times
    or more, and in none that it takes: the client never learns what the broker speaks. Brokers before 2.4
    name no version when they refuse. Then version 0 is right (KIP-511).

    Example: ApiVersions v3 to a broker of Kafka 1.0, 125 times, and no other request.

    What to do: ask in the highest version that the refusal lists, else in version 0.
    """

    code = "VER020"
    name = "refused-version-again"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-511 Proposed Changes", "org.apache.kafka.clients.NetworkClient#handleApiVersionsResponse")
    facts = (RefusalFact.VERSION_REFUSED_AGAIN,)
    expects = "ApiVersions in a version that the broker takes"
