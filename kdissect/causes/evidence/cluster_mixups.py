"""Clients that brokers of one cluster sent to a broker of another one, and addresses that became another
cluster's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.session.info import ConnectionInfo, ConnectionKind, KnownIdentities

CLIENTS_KEPT = 10_000  # 1 KB each
ADDRESSES_KEPT = 100  # of one client


class Misled(NamedTuple):
    """A connection to an address that `advertised_by` advertises, and that is in the cluster `leads_to`."""

    info: ConnectionInfo
    advertised_by: str
    leads_to: str


class ClusterMixups:
    """Takes connections that are over."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str, str | None], dict[str, ConnectionInfo]] = {}
        """The first connection to each address, by capture set, host and client id."""
        self._identities: KnownIdentities | None = None
        self._addresses: dict[tuple[str, str], str] = {}
        """Addresses of brokers by capture set and text, which may have a name."""

    def add(self, info: ConnectionInfo) -> None:
        """Take a connection."""
        if info.kind is not ConnectionKind.KAFKA or not info.complete:
            return
        self._identities = info.identities or self._identities
        if len(self._addresses) < CLIENTS_KEPT:
            self._addresses[info.capture_set, info.broker_text] = info.broker_address
        client = info.capture_set, info.client.host, info.client_id
        known = self._clients.get(client)
        if known is None:
            if len(self._clients) >= CLIENTS_KEPT:
                return
            known = self._clients[client] = {}
        if len(known) < ADDRESSES_KEPT:
            known.setdefault(info.broker_address, info)

    def moved_after(self, place: tuple[str, str], time_ns: int) -> tuple[str, str] | None:
        """Return the clusters of which brokers answered at an address before and after a time, if they
        differ.
        """
        address = self._addresses.get(place)
        if self._identities is None or address is None:
            return None
        return self._identities.moved_after(place[0], address, time_ns)

    def misled(self) -> Iterator[Misled]:
        """Yield connections of clients that are also connected to the cluster that advertises the address."""
        for known in self._clients.values():
            clusters = {
                None if one.identities is None else one.identities.cluster_of(one) for one in known.values()
            }
            for info in known.values():
                identities = info.identities
                told = None if identities is None else identities.advertised_by_other(info)
                own = None if identities is None else identities.cluster_of(info)
                if told is not None and own is not None and told in clusters:
                    yield Misled(info, told, own)
