"""Rules: the client id of requests."""

from collections.abc import Iterator

from kdissect.decoders.headers import request_header_version
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.secrets import MASK
from kdissect.session.exchange import Exchange


class ClientIdMissing(ExchangeRule):
    """A client should name itself in client_id.

    Quotas, logs and metrics of a broker distinguish clients by it. Null and empty are legal.

    Example: a client id of length 0.

    What to do: set `client.id`.
    """

    code = "HDR005"
    name = "client-id-missing"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("spec/004 client_id", "org.apache.kafka.common.requests.RequestHeader#clientId")
    once = Once.CONNECTION
    guard = ExchangeFact.NO_CLIENT_ID

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the client id of a request whose header has one."""
        if exchange.connection.logged is not None:
            return  # brokers log null as an empty string
        if exchange.request is None or exchange.api_key is None or exchange.request.is_cut:
            return
        if exchange.client_id in (None, "") and request_header_version(
            exchange.api_key, exchange.api_version or 0
        ):
            yield Violation(
                "a name", "null" if exchange.client_id is None else "an empty string", start=8, end=10
            )


class ClientIdChanges(ExchangeRule):
    """client_id should not change within a connection.

    Quotas and logs use it. Proxies that carry several clients over one connection do this.

    Example: `app-1` in one request, `app-2` in the next one of the same connection.

    What to do: give each client a connection, or know that the broker's quotas mix them up.
    """

    code = "HDR006"
    name = "client-id-changes"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    needs = "the request before it"
    cites = ("spec/004 client_id",)
    once = Once.CONNECTION
    guard = ExchangeFact.OTHER_CLIENT_ID

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the client id against the one before."""
        before = view.previous
        if before is None or exchange.request is None or not exchange.client_id:  # no name: HDR005
            return
        if MASK in (before.client_id, exchange.client_id):
            return  # it may be a piece of a secret, which is unknown
        if before.client_id and before.client_id != exchange.client_id:
            yield Violation(f"{before.client_id!r} as before", repr(exchange.client_id), start=8, end=10)


class ClientIdNotUtf8(ExchangeRule):
    """client_id must be valid UTF-8 after a length of two bytes.

    It is a classic string even in header v2, so that a broker can read who sends a version it does not know.

    Example: the single byte `ff` as client id.

    What to do: encode names as UTF-8.
    """

    code = "HDR007"
    name = "client-id-not-utf8"
    who = Who.CLIENT
    cites = ("spec/004 client_id", "org.apache.kafka.common.requests.RequestHeader#parse")
    once = Once.CONNECTION
    guard = ExchangeFact.ESCAPED_CLIENT_ID

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the raw bytes of a client id that shows escapes."""
        if exchange.client_id is None or "\\x" not in exchange.client_id or exchange.request is None:
            return
        data = exchange.request.data
        raw = data[10 : 10 + int.from_bytes(data[8:10])]
        try:
            raw.decode()
        except UnicodeDecodeError:
            yield Violation("UTF-8", exchange.client_id, start=10, end=10 + len(raw))
