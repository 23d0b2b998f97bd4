"""Fetch sessions by client and broker: how often they were built anew and why, and how many polls were empty.

The sessions are those of `history.fetch_sessions` (KIP-227); this counts what it tells for each client.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

from kdissect.history import apis
from kdissect.history.fact import Fact
from kdissect.history.fetch_sessions import FetchFact, FetchSession, SessionKey
from kdissect.history.history import History
from kdissect.history.table import Table
from kdissect.history.turn import Turn
from kdissect.schema.error_codes import error_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.client import Client, client_of, is_follower
from kdissect.stats.response_time import is_empty_early

CLIENTS_KEPT = 5_000  # clients times brokers; 1 KB each
CONNECTIONS_KEPT = 20_000  # open at a time on the largest brokers (history.throttling)
SESSIONS_KEPT = 100  # ids of one client, the last ones
NOTHING_SEEN = "nothing seen"  # the client opened another session without a visible reason
NEW_CONNECTION = "new connection"

_ENDINGS: dict[StrEnum, str] = {
    FetchFact.CLOSED: "closed by the client", FetchFact.ENDED: "no partitions left"
}  # fmt: skip
_REFUSED: frozenset[StrEnum] = frozenset(
    {FetchFact.EVICTED, FetchFact.EPOCH_REFUSED, FetchFact.TOPIC_IDS_REFUSED}
)
_ODD: frozenset[StrEnum] = frozenset(
    {FetchFact.EPOCH_DIFFERS, FetchFact.USED_AFTER_CLOSE, FetchFact.UNKNOWN_SESSION,
     FetchFact.ZERO_INCREMENTAL,
     FetchFact.STRANGE_PARTITION, FetchFact.TOPIC_IDS_MIXED, FetchFact.FORGOTTEN_IN_FULL}
)  # fmt: skip


class FetcherKey(NamedTuple):
    """Who fetches from whom."""

    capture_set: str
    broker: str
    client: Client


class Fetcher:
    """What one client does at one broker.

    `rebuilt` counts sessions after the first, by the reason; `refused` fetches by the name of the error code.
    `empty_early` counts those that were answered empty long before their max wait was over.
    """

    __slots__ = (
        "connection", "empty_early", "ended_by", "is_follower", "is_wanted", "not_created", "odd", "rebuilt",
        "refused", "requests", "sessions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = 0
        self.is_follower = False
        self.is_wanted = False
        self.sessions: dict[SessionKey, None] = {}
        self.connection = ""
        """On which the last session was created."""
        self.ended_by: str | None = None
        """How the last session ended."""
        self.rebuilt: Counter[str] = Counter()
        self.not_created = 0
        """A session was asked for, and the broker gave none: its cache is full."""
        self.odd: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.empty_early = 0

    def created(self, key: SessionKey, connection: str) -> None:
        """The broker gave a session."""
        if self.connection:
            moved = connection != self.connection
            self.rebuilt[self.ended_by or (NEW_CONNECTION if moved else NOTHING_SEEN)] += 1
        self.connection, self.ended_by = connection, None
        self.sessions.pop(key, None)
        self.sessions[key] = None
        if len(self.sessions) > SESSIONS_KEPT:
            del self.sessions[next(iter(self.sessions))]


class FetchSessionTraffic:
    """Fetchers by client and broker."""

    def __init__(self) -> None:
        self.history = History(only=("fetch_sessions",))
        self.fetchers: Table[FetcherKey, Fetcher] = Table(CLIENTS_KEPT)
        self._of_connection: Table[str, FetcherKey] = Table(CONNECTIONS_KEPT)

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Told are the clients with a Fetch that is wanted."""
        if isinstance(event, Exchange) and event.api_key == apis.FETCH and event.request is not None:
            self._asked(event, wanted)
        self._apply(self.history.add(event))

    def finish(self) -> None:
        """The input is over."""
        self._apply(self.history.finish())

    def session(self, key: SessionKey) -> FetchSession | None:
        """The state of a session."""
        return self.history.fetch_sessions.sessions.peek(key)

    def _asked(self, exchange: Exchange, wanted: bool) -> None:
        turn = Turn(exchange)
        info = exchange.connection
        key = FetcherKey(info.capture_set, info.broker_text, client_of(turn))
        self._of_connection.put(info.id, key)
        fetcher = self.fetchers.get_or(key, Fetcher)
        if not fetcher.requests:
            fetcher.is_follower = is_follower(turn)
        fetcher.requests += 1
        fetcher.is_wanted |= wanted
        fetcher.empty_early += is_empty_early(turn)

    def _apply(self, facts: list[Fact]) -> None:
        for fact in facts:
            place = self._of_connection.peek(fact.evidence.connection)
            fetcher = None if place is None else self.fetchers.peek(place)
            if fetcher is None:
                continue
            if fact.kind is FetchFact.CREATED:
                fetcher.created((fact.key[0], fact.key[1], fact.key[2]), fact.evidence.connection)
            elif fact.kind is FetchFact.NOT_CREATED:
                fetcher.not_created += 1
            elif fact.kind in _REFUSED:
                fetcher.refused[error_name(fact.seen)] += 1
                fetcher.ended_by = str(fact.kind).replace("_", " ")
            elif fact.kind in _ENDINGS:
                fetcher.ended_by = _ENDINGS[fact.kind]
            elif fact.kind in _ODD:
                fetcher.odd[str(fact.kind).replace("_", " ")] += 1
