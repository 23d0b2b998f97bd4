"""Waits for a listener that serves as many connections as it may."""

from __future__ import annotations

from collections.abc import Iterable

from kdissect.causes.evidence.links import Link, LinkKey
from kdissect.stats.times.stalls import Stall

_OPEN = 3  # connections that are served: a client has one or two for each broker
_ROOM_NS = 1_000_000_000  # from the end of a connection to the first response on another one


def waits_for_room(stall: Stall, links: Iterable[tuple[LinkKey, Link]]) -> bool:
    """Return whether only first requests of connections waited, until their clients ended other connections.

    A listener at its limit of connections reads no new one, and serves those that it has
    (org.apache.kafka.network.SocketServerConfigs#MAX_CONNECTIONS_CONFIG).
    """
    if any(wait.evidence.ordinal for wait in stall.heads):
        return False
    clients, (_, broker) = {(one.client_id, one.address) for one in stall.clients}, stall.place
    own = [link for key, link in links if (key.client_id, key.host) in clients and key.broker == broker]
    makes_room = any(0 <= stall.until_ns - end <= _ROOM_NS for link in own for end in link.ends)
    return makes_room and sum(link.open_at(stall.from_ns) for link in own) > _OPEN
