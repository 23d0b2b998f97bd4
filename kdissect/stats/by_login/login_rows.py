"""The facts of `LoginTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.stats.by_login.login import Login, Logins, LoginsKey
from kdissect.stats.by_login.login_traffic import LoginTraffic

Facts = dict[str, Any]


def login_facts(traffic: LoginTraffic) -> Facts:
    """Return the principals with their mechanisms, in the order of their first logins, and the logins one by
    one.
    """
    who = sorted(traffic.who.items(), key=lambda item: item[1].first_ns)
    logins = sorted(traffic.logins, key=lambda login: login.started_ns)
    counted = sum(logins.count for _, logins in who)
    return {
        "who": [_who(key, logins) for key, logins in who],
        "logins": [_login(login) for login in logins],
        "forgotten": traffic.who.forgotten + max(counted - len(logins), 0),
    }


def _who(key: LoginsKey, logins: Logins) -> Facts:
    return {
        **key._asdict(),
        "software": logins.software,
        "count": logins.count,
        "again": logins.again,
        "outcomes": dict(logins.outcomes.most_common()),
        "errors": dict(logins.errors.most_common()),
        "first_time": rfc3339(logins.first_ns),
        "last_time": rfc3339(logins.last_ns),
        "took_ns": logins.took_ns.facts(),
    }


def _login(login: Login) -> Facts:
    return {
        "time": rfc3339(login.started_ns),
        "time_ns": login.started_ns,
        **login.key._asdict(),
        "software": login.client.software,
        "again": login.again,
        "outcome": str(login.outcome),
        "error": login.error,
        "message": login.message,
        "offered": list(login.offered),
        "tokens": login.tokens,
        "took_ns": login.took_ns,
        "broker_ns": login.broker_ns,
        "lifetime_ms": login.lifetime_ms,
        "exchange": f"{login.first.connection}/{login.first.ordinal}",
    }
