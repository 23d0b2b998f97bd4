"""HDR006: client_id should not change within a connection."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema.secrets import MASK
from kdissect.session.exchange import Exchange


class ClientIdChanges(ExchangeRule):
    """client_id should not change within a connection.

    Quotas and logs go by it. Proxies that carry several clients over one connection do this.

    Example: `app-1` in one request, `app-2` in the next one of the same connection.

    What to do: give each client a connection, or know that the broker's quotas mix them up.
    """

    code = "HDR006"
    name = "client-id-changes"
    only_unusual = True
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    needs = "the request before it"
    cites = ("spec/004 client_id",)
    once = Once.CONNECTION

    def is_suspect(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Another than before."""
        return view.previous is not None and view.previous.client_id != exchange.client_id

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """The client id against the one before."""
        before = view.previous
        if before is None or exchange.request is None or not exchange.client_id:  # no name: HDR005
            return
        if MASK in (before.client_id, exchange.client_id):
            return  # one that may be a piece of a secret: nobody knows it
        if before.client_id and before.client_id != exchange.client_id:
            yield Fault(f"{before.client_id!r} as before", repr(exchange.client_id), start=8, end=10)
