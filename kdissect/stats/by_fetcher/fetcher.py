"""One client's activity at one broker: its fetches, and the number of rebuilt sessions."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from kdissect.history.sessions.fetch_sessions import SessionKey
from kdissect.stats.client import Client

SESSIONS_KEPT = 100  # ids of one client, the last ones
NOTHING_SEEN = "nothing seen"
"""The client opened another session without a visible reason."""
_NEW_CONNECTION = "new connection"


class FetcherKey(NamedTuple):
    """A fetching client, and the broker."""

    capture_set: str
    broker: str
    client: Client


class Fetcher:
    """One client's activity at one broker.

    `rebuilt` counts sessions after the first, by the reason. `refused` counts fetches by the name of the
    error code. `empty` counts fetches that were answered without records, `empty_early` the part of them that
    were answered long before their max wait was over.
    """

    __slots__ = (
        "connection", "empty", "empty_early", "ended_by", "is_follower", "is_wanted", "not_created", "odd",
        "rebuilt", "refused", "requests", "sessions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = 0
        self.is_follower = False
        self.is_wanted = False
        self.sessions: dict[SessionKey, None] = {}
        self.connection = ""
        """On which the last session was created."""
        self.ended_by: str | None = None
        """End of the last session."""
        self.rebuilt: Counter[str] = Counter()
        self.not_created = 0
        """Sessions that a client asked for and the broker did not create: its cache is full."""
        self.odd: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.empty = self.empty_early = 0

    def created(self, key: SessionKey, connection: str) -> None:
        """Count a session that the broker created."""
        if self.connection:
            moved = connection != self.connection
            self.rebuilt[self.ended_by or (_NEW_CONNECTION if moved else NOTHING_SEEN)] += 1
        self.connection, self.ended_by = connection, None
        self.sessions.pop(key, None)
        self.sessions[key] = None
        if len(self.sessions) > SESSIONS_KEPT:
            del self.sessions[next(iter(self.sessions))]
