"""HDR007: client_id must be valid UTF-8 behind a length of two bytes."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class ClientIdNotUtf8(ExchangeRule):
    """client_id must be valid UTF-8 behind a length of two bytes.

    It is a classic string even in header v2, so that a broker can read who sends a version it does not know.

    Example: the single byte `ff` as client id.

    What to do: encode names as UTF-8.
    """

    code = "HDR007"
    name = "client-id-not-utf8"
    only_unusual = True
    who = Who.CLIENT
    cites = ("spec/004 client_id", "org.apache.kafka.common.requests.RequestHeader")
    once = Once.CONNECTION

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """With an escape."""
        return exchange.client_id is not None and "\\x" in exchange.client_id

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """The raw bytes of a client id that shows escapes."""
        if exchange.client_id is None or "\\x" not in exchange.client_id or exchange.request is None:
            return
        data = exchange.request.data
        raw = data[10 : 10 + int.from_bytes(data[8:10])]
        try:
            raw.decode()
        except UnicodeDecodeError:
            yield Fault("UTF-8", exchange.client_id, start=10, end=10 + len(raw))
