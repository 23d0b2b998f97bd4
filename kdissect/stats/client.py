"""The sender of a request, as far as the wire shows it."""

from functools import lru_cache
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.replica_ids import replica_id
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.segment import address_text
from kdissect.session.info import ConnectionInfo

CLIENTS_KEPT = 10_000  # of which the client is known without a look

Sender = tuple[str | None, str | None, str | None, str | None, str]


class Client(NamedTuple):
    """A client, whatever its connection. `address` is that of its host, or the name given for it."""

    principal: str | None
    client_id: str | None
    software: str | None
    address: str

    def facts(self) -> dict[str, Any]:
        """Return the parts by name, for JSON."""
        return self._asdict()


class Clients:
    """The clients of many exchanges, of few clients."""

    def __init__(self) -> None:
        self._known: dict[Sender, Client] = {}

    def of(self, info: ConnectionInfo, client_id: str | None) -> Client:
        """Return the result of `client_named`."""
        sender = sender_of(info, client_id)
        found = self._known.get(sender)
        if found is None:
            if len(self._known) >= CLIENTS_KEPT:
                self._known.clear()
            found = self._known[sender] = client_named(info, client_id)
        return found


def sender_of(info: ConnectionInfo, client_id: str | None) -> Sender:
    """Return the parts of `client_named`: equal for all connections of a client, and without a reference to
    one of them.
    """
    return info.principal, client_id, info.software_name, info.software_version, host_of(info)


def client_of(view: ExchangeView) -> Client:
    """Return the client of an exchange."""
    return client_named(view.info, view.exchange.client_id)


def client_named(info: ConnectionInfo, client_id: str | None) -> Client:
    """Return the client that sends with a client id on a connection."""
    return Client(info.principal, client_id, info.software, host_of(info))


def host_of(info: ConnectionInfo) -> str:
    """Return the address of a connection's client, or its name, without the port."""
    return _host_in(info.client_text)


@lru_cache(maxsize=256)  # several times for each exchange
def _host_in(text: str) -> str:
    return text.rpartition(":")[0].strip("[]")


def advertised(row: Any) -> str:
    """Return the address in a row of a body, in the form that addresses of connections have."""
    return address_text(text_of(row.host), row.port)


def text_of(value: Any) -> str:
    """Return a string of a body. Bytes that are no UTF-8 become escapes."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def is_commit_from_outside(request: Any) -> bool:
    """Return True if an OffsetCommit names neither a member nor a generation of the group.

    Tools that reset offsets send such requests, as do consumers without a subscription.
    """
    return not sent(request, "member_id") and sent(request, "generation_id_or_member_epoch", -1) < 0


def is_follower(view: ExchangeView) -> bool:
    """Return whether a Fetch is from a broker that replicates."""
    return view.request is not None and replica_id(view.request) >= 0
