"""Answers that came late, by broker: what causes about slow brokers look at."""

from __future__ import annotations

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.stats.client import Client

# What takes long by nature: topics are made and deleted by a controller, logins wait on purpose after a
# failure, and a new producer or transaction has its coordinator read or make its log.
_LONG = frozenset({19, 20, 22, 24, 25, 26, 36, 37, 17, 18, 10, 3, 47, 68})


class Late:
    """Late answers of one broker."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.clients: dict[Client, int] = {}
        self.apis: dict[int, int] = {}

    def add(self, api_key: int, client: Client, seen: Seen) -> None:
        """These, too."""
        self.seen.merge(seen)
        self.clients[client] = self.clients.get(client, 0) + seen.time_ns
        self.apis[api_key] = self.apis.get(api_key, 0) + seen.times

    @property
    def worst_clients(self) -> list[Client]:
        """Who waited most, first."""
        return sorted(self.clients, key=lambda client: -self.clients[client])


def late_by_broker(seen: Evidence) -> dict[tuple[str, str], Late]:
    """Late answers by capture set and broker; not of what takes long by nature, unless others were late."""
    found: dict[tuple[str, str], Late] = {}
    for key, times in seen.late():
        if key.api_key not in _LONG:
            found.setdefault((key.capture_set, key.broker), Late()).add(key.api_key, key.client, times)
    return found
