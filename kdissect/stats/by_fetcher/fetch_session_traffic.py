"""Fetch sessions by client and broker: the number of rebuilds with reasons, and the number of empty polls.

The sessions come from `history.fetch_sessions` (KIP-227). This module counts its facts for each client.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.history import History
from kdissect.history.sessions.fetch_parts import FetchParts, fetch_parts
from kdissect.history.sessions.fetch_sessions import FetchFact, FetchSession, SessionKey
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_fetcher.fetch_polls import FetchPolls
from kdissect.stats.by_fetcher.fetcher import Fetcher, FetcherKey
from kdissect.stats.client import Clients, is_follower
from kdissect.stats.times.response_time import is_empty, is_empty_early

CLIENTS_KEPT = 5_000  # clients times brokers; 1 KB each
CONNECTIONS_KEPT = 20_000  # open at a time on the largest brokers (history.throttling)

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


class FetchSessionTraffic:
    """Fetchers by client and broker."""

    def __init__(self) -> None:
        self.history = History(only=("fetch_sessions",), increments=False)
        self.fetchers: Table[FetcherKey, Fetcher] = Table(CLIENTS_KEPT)
        self._clients = Clients()
        self._of_connection: Table[str, FetcherKey] = Table(CONNECTIONS_KEPT)
        self._polls: FetchPolls | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's counts in the fetchers. The engine begins again
        elsewhere.
        """
        self._catch_up()
        return vars(self) | {"_polls": None}

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only clients with a wanted Fetch are reported."""
        self._catch_up()
        parts = None
        if isinstance(event, Exchange) and event.api_key == apis.FETCH and event.request is not None:
            parts = fetch_parts(event)
            self._asked(event, parts, wanted)
        self._apply(self.history.add(event, parts))

    def finish(self) -> None:
        """End the input."""
        self._catch_up()
        self._apply(self.history.finish())

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block that are all wanted, from `start`. Return the next one that is for
        `add`.
        """
        if self._polls is None:
            self._polls = FetchPolls(self.history, self.fetchers, self._of_connection, self._key_of)
        return self._polls.count_block(block, start)

    def _catch_up(self) -> None:
        if self._polls is not None:
            self._polls.take()

    def _key_of(self, info: ConnectionInfo, client_id: str | None) -> FetcherKey:
        return FetcherKey(info.capture_set, info.broker_text, self._clients.of(info, client_id))

    def session(self, key: SessionKey) -> FetchSession | None:
        """Return the state of a session."""
        return self.history.fetch_sessions.sessions.peek(key)

    def _asked(self, exchange: Exchange, parts: FetchParts | None, wanted: bool) -> None:
        info = exchange.connection
        key = self._key_of(info, exchange.client_id)
        self._of_connection.put(info.id, key)
        fetcher = self.fetchers.get_or(key, Fetcher)
        if not fetcher.requests:
            fetcher.is_follower = is_follower(ExchangeView(exchange))
        fetcher.requests += 1
        fetcher.is_wanted |= wanted
        if parts is not None and is_empty(parts):
            fetcher.empty += 1
            fetcher.empty_early += is_empty_early(exchange, parts)

    def _apply(self, facts: list[Fact]) -> None:
        for fact in facts:
            key = self._of_connection.peek(fact.evidence.connection)
            fetcher = None if key is None else self.fetchers.peek(key)
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


Facts = dict[str, Any]


def fetch_session_facts(traffic: FetchSessionTraffic) -> Facts:
    """Return the clients, with the most sessions first."""
    rows = [_row(traffic, key, fetcher) for key, fetcher in traffic.fetchers.items() if fetcher.is_wanted]
    rows.sort(key=lambda row: (-sum(row["rebuilt"].values()), -row["requests"], row["client_id"] or ""))
    return {
        "clients": rows,
        "forgotten": traffic.fetchers.forgotten + traffic.history.fetch_sessions.sessions.forgotten,
    }


def _row(traffic: FetchSessionTraffic, key: FetcherKey, fetcher: Fetcher) -> Facts:
    sessions = [row for row in (_session(traffic, session) for session in fetcher.sessions) if row]
    incremental = sum(row["incremental"] for row in sessions)
    return {
        **key.client.facts(),
        "broker": key.broker,
        "follower": fetcher.is_follower,
        "requests": fetcher.requests,
        "sessions": sessions,
        "rebuilt": dict(fetcher.rebuilt.most_common()),
        "not_created": fetcher.not_created,
        "incremental": incremental,
        "refused": dict(fetcher.refused.most_common()),
        "without_session": max(
            fetcher.requests - incremental - sum(row["full"] for row in sessions) - fetcher.refused.total(),
            0,
        ),
        "empty": fetcher.empty,
        "empty_early": fetcher.empty_early,
        "odd": dict(fetcher.odd.most_common()),
    }


def _session(traffic: FetchSessionTraffic, key: tuple[str, str, int]) -> Facts | None:
    session = traffic.session(key)
    if session is None:
        return None
    created = session.created_by
    return {
        "session_id": session.session_id,
        "created": None if created is None else rfc3339(created.answered_ns),
        "open": session.is_open,
        "full": session.full,
        "incremental": session.incremental,
        "empty": session.empty,
        "partitions": None if session.partitions is None else len(session.partitions),
    }
