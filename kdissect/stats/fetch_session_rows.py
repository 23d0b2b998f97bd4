"""What `FetchSessionTraffic` knows as plain values, for JSON and tables alike (docs/statistics.md)."""

from __future__ import annotations

from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.stats.fetch_session_traffic import Fetcher, FetcherKey, FetchSessionTraffic

Facts = dict[str, Any]


def fetch_session_facts(traffic: FetchSessionTraffic) -> Facts:
    """The clients, those that built most sessions first."""
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
        "empty": sum(row["empty"] for row in sessions),
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
