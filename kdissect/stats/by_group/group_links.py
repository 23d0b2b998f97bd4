"""Which group a client reads for: Fetch does not say, the same client's group requests do.

A client is its address without the port, and its client id: a consumer has a connection for each broker.
"""

from functools import lru_cache
from typing import Any, ClassVar

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.schema.protocol_messages import request_message
from kdissect.session.info import ConnectionInfo

CLIENTS_KEPT = 20_000  # 300 bytes each
_GROUPS_OF_CLIENT = 16  # several consumers of one process may share a client id

ClientKey = tuple[str, str, str | None]
"""Capture set, address, client id."""

_MEMBERS_ASK = frozenset(
    {apis.JOIN_GROUP, apis.SYNC_GROUP, apis.HEARTBEAT, apis.OFFSET_COMMIT, apis.CONSUMER_GROUP_HEARTBEAT,
     apis.SHARE_GROUP_HEARTBEAT, apis.STREAMS_GROUP_HEARTBEAT, apis.SHARE_FETCH, apis.OFFSET_FETCH}
)  # fmt: skip


def client_key(view: ExchangeView) -> ClientKey:
    """Return the client of an exchange."""
    return client_key_of(view.info, view.exchange.client_id)


def client_key_of(info: ConnectionInfo, client_id: str | None) -> ClientKey:
    """Return the client that sends with a client id on a connection."""
    return info.scope, info.client.host, client_id


class GroupLinks:
    """Groups by client, learned from requests that members send."""

    api_keys: ClassVar[frozenset[int]] = _MEMBERS_ASK

    def __init__(self) -> None:
        self._groups: Table[ClientKey, tuple[str, ...]] = Table(CLIENTS_KEPT)
        self.changes = 0
        """The number of times that a client was found to act for a group."""

    def learn(self, view: ExchangeView) -> None:
        """Take the next exchange."""
        if view.key in _MEMBERS_ASK:
            for group in groups_named(view):
                self.link(view.info, view.exchange.client_id, group)

    def link(self, info: ConnectionInfo, client_id: str | None, group: str) -> None:
        """Note that a client acts for a group."""
        key = client_key_of(info, client_id)
        known = self._groups.peek(key) or ()  # of blocks not each exchange comes here
        if group and group not in known and len(known) < _GROUPS_OF_CLIENT:
            self._groups.put(key, (*known, group))
            self.changes += 1

    def of_client(self, key: ClientKey) -> tuple[str, ...]:
        """Return the groups of a client, as far as it was seen to act for them."""
        return self._groups.peek(key) or ()

    def of_exchange(self, view: ExchangeView) -> tuple[str, ...]:
        """Return the groups a request names, else the groups of its client."""
        return groups_named(view) or self.of_client(client_key(view))


GROUP_FIELDS = frozenset({"group_id", "groups", "group_ids"})
"""Fields of requests that name groups, and so all that `groups_named` reads."""


@lru_cache(maxsize=256)  # more than there are APIs, as hostile requests can name others
def names_groups(api_key: int) -> bool:
    """Return whether requests of an API, in some version, name groups."""
    message = request_message(api_key)
    return message is not None and any(field.name in GROUP_FIELDS for field in message.root.fields)


def groups_named(view: ExchangeView) -> tuple[str, ...]:
    """Return the groups that a request of any API names."""
    request = view.request
    named: Any = sent(request, "group_id", None)
    if named is not None:
        return (str(named),) if named else ()
    rows = sent(request, "groups", None) or sent(request, "group_ids", None) or ()
    names = (sent(row, "group_id", row) for row in rows)
    return tuple(name for name in names if isinstance(name, str))
