"""Answers that came late, by broker: what causes about slow brokers look at."""

from __future__ import annotations

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.stats.client import Client

PROMPT = frozenset({0, 1, 2, 8, 9, 12})
"""Requests that healthy brokers answer at once: Produce, Fetch, ListOffsets, OffsetCommit, OffsetFetch,
Heartbeat. To make topics, to log in, to find coordinators, to end transactions takes long by nature."""


class Late:
    """Late answers of one broker."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.clients: dict[Client, int] = {}
        self.apis: dict[int, int] = {}

    def add(self, api_key: int, client: Client, seen: Seen) -> None:
        """Add late answers of an API to a client."""
        self.seen.merge(seen)
        self.clients[client] = self.clients.get(client, 0) + seen.time_ns
        self.apis[api_key] = self.apis.get(api_key, 0) + seen.times

    @property
    def worst_clients(self) -> list[Client]:
        """The clients that waited, longest first."""
        return sorted(self.clients, key=lambda client: -self.clients[client])


def late_by_broker(seen: Evidence) -> dict[tuple[str, str], Late]:
    """Return late responses by capture set and broker, of APIs with prompt responses elsewhere.

    Responses to throttled clients do not count: a broker does not read their requests meanwhile (KIP-219).
    """
    throttled = seen.gathering.background.throttled
    found: dict[tuple[str, str], Late] = {}
    for key, times in seen.late:
        if key.api_key in PROMPT and key.client not in throttled:
            found.setdefault((key.capture_set, key.broker), Late()).add(key.api_key, key.client, times)
    return found
