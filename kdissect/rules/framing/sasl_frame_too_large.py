"""FRM003: A SASL frame should not exceed sasl.server.max.receive.size, by default 512 KiB."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault
from kdissect.session.exchange import Exchange, ExchangeKind

LIMIT = 512 << 10  # sasl.server.max.receive.size (BrokerSecurityConfigs)
SASL_APIS = (17, 36)  # SaslHandshake, SaslAuthenticate


class SaslFrameTooLarge(ExchangeRule):
    """A SASL frame should not exceed sasl.server.max.receive.size, by default 512 KiB.

    Before a client is authenticated, brokers since 2.8.2 take only small frames, so that strangers cannot
    make them allocate memory. The limit is configurable, and older brokers have none.

    Example: a SaslAuthenticate request of 600,000 bytes.

    What to do: shorten the token, or raise the broker's limit.
    """

    code = "FRM003"
    name = "sasl-frame-too-large"
    only_unusual = True
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",)

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """SASL, with a header or without."""
        return api_key is None or api_key in SASL_APIS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """Size of handshakes and tokens."""
        request = exchange.request
        if request is None or (
            exchange.kind is not ExchangeKind.SASL_TOKEN and exchange.api_key not in SASL_APIS
        ):
            return
        if request.size > LIMIT:
            yield Fault(f"at most {LIMIT} bytes", plural(request.size, "byte"), start=0, end=0)
