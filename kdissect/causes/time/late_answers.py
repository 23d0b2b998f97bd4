"""Answers that came late, by broker: what causes about slow brokers look at."""

from __future__ import annotations

from kdissect.causes.cause import joined
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.model.packets.logged import Phases
from kdissect.stats.client import Client

PROMPT = frozenset({0, 1, 2, 8, 9, 12})
"""Requests that healthy brokers answer at once: Produce, Fetch, ListOffsets, OffsetCommit, OffsetFetch,
Heartbeat. To make topics, to log in, to find coordinators, to end transactions takes long by nature."""

_LEAST = 0.1  # of the time: a phase with less explains nothing
_WEIGHTY = 0.25  # of the time: worth a look. The longest of four phases has that much
_SPENT = {
    "queue": "in the request queue",
    "local": "in the broker's own work on the requests",
    "remote": "waiting for other brokers",
    "response_queue": "in the response queue",
}
_HELP = {
    "queue": "All request threads of the broker were busy (num.io.threads). See which requests have a long"
    " `broker.local`.",
    "local": "See the disks, the page cache and the processors of the broker, and how much requests ask for.",
    "remote": "See the other replicas (Produce with acks=all), or the controller.",
    "response_queue": "All network threads of the broker were busy (num.network.threads).",
}


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


def phases_text(phases: Phases) -> str:
    """Return the shares of the phases (`stats.times.waited.waited_phases`), longest first."""
    total = sum(phases) or 1
    shares = [
        f"{100 * ns // total} % {_SPENT[name]}" for name, ns in _longest(phases) if ns >= _LEAST * total
    ]
    return f" The broker logged where it spent its time on them: {joined(shares, len(shares))}."


def phases_help(phases: Phases) -> str:
    """Return what to do about the longest phases."""
    return " ".join(_HELP[name] for name, ns in _longest(phases) if ns >= _WEIGHTY * sum(phases))


def _longest(phases: Phases) -> list[tuple[str, int]]:
    return sorted(((name, getattr(phases, name)) for name in _SPENT), key=lambda named: -named[1])
