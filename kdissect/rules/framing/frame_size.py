"""Rules: the size in front of a frame."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ConnectionRule, ExchangeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, ExchangeKind

_REQUEST_MOST = 100 << 20  # socket.request.max.bytes (SocketServerConfigs)
_SASL_MOST = 512 << 10  # sasl.server.max.receive.size (BrokerSecurityConfigs)
_SASL_APIS = (17, 36)  # SaslHandshake, SaslAuthenticate


class BadFrameSize(ConnectionRule):
    """A frame's size must not be negative, nor beyond any Kafka message.

    The int32 before each frame says how many bytes follow. A negative size, or one of 256 MiB and more, is
    no frame: brokers close the connection, clients lose their place in the stream. Silent where bytes were
    missing before, for then the four bytes may be something else.

    Example: `ff ff ff fe` where a size belongs.

    What to do: look at the frame before it. Its size is often what is wrong.
    """

    code = "FRM001"
    name = "bad-frame-size"
    cites = ("spec/004 Size Validation", "org.apache.kafka.common.network.NetworkReceive#readFrom")
    needs_start = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """The first bad size of the connection; what follows it is guesswork."""
        kinds = [a.kind for a in view.info.anomalies]
        if view.info.tcp is not None and view.info.tcp.gaps:
            return
        if AnomalyKind.BAD_FRAME_SIZE in kinds:
            anomaly = view.info.anomalies[kinds.index(AnomalyKind.BAD_FRAME_SIZE)]
            who = Who.CLIENT if anomaly.direction == view.info.client_direction else Who.BROKER
            yield Violation("a size from 0 to 268435455", anomaly.detail, who=who)


class RequestTooLarge(ExchangeRule):
    """A request should not exceed socket.request.max.bytes, by default 100 MiB.

    A broker closes the connection when the size before a request exceeds its limit, without an answer. The
    limit is the broker's configuration, so this is a warning. Responses have no such limit.

    Example: a Produce request with a size of 120,000,000.

    What to do: lower `max.request.size` of the producer, or raise the broker's limit.
    """

    code = "FRM002"
    name = "request-too-large"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    overrides = ("FRM003",)
    cites = (
        "spec/004 Size Constraints",
        "spec/000 Network",
        "org.apache.kafka.network.SocketServerConfigs#SOCKET_REQUEST_MAX_BYTES_CONFIG",
    )
    guard = ExchangeFact.LARGE

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Size of the request's frame."""
        if exchange.request is not None and exchange.request.size > _REQUEST_MOST:
            yield Violation(
                f"at most {_REQUEST_MOST} bytes", plural(exchange.request.size, "byte"), start=0, end=0
            )


class SaslFrameTooLarge(ExchangeRule):
    """A SASL frame should not exceed sasl.server.max.receive.size, by default 512 KiB.

    Before a client is authenticated, brokers since 2.8.2 take only small frames, so that strangers cannot
    make them allocate memory. The limit is configurable, and older brokers have none.

    Example: a SaslAuthenticate request of 600,000 bytes.

    What to do: shorten the token, or raise the broker's limit.
    """

    code = "FRM003"
    name = "sasl-frame-too-large"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#authenticate",)
    guard = ExchangeFact.LARGE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """SASL, with a header or without."""
        return api_key is None or api_key in _SASL_APIS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Size of handshakes and tokens."""
        request = exchange.request
        if request is None or (
            exchange.kind is not ExchangeKind.SASL_TOKEN and exchange.api_key not in _SASL_APIS
        ):
            return
        if request.size > _SASL_MOST:
            yield Violation(f"at most {_SASL_MOST} bytes", plural(request.size, "byte"), start=0, end=0)
