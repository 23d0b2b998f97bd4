"""One login: a mechanism that a client tried with a principal, and its outcome. Also sums of equal logins."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

from kdissect.history.fact import Evidence
from kdissect.sketches.distribution import Distribution
from kdissect.stats.client import Client


class Outcome(StrEnum):
    """Outcome of a login."""

    ACCEPTED = "accepted"
    REFUSED = "refused"  # by an error code in the answer to a token
    MECHANISM_REFUSED = "mechanism refused"  # the broker does not have it
    NO_SASL = "no SASL"  # the listener does none, or not now (ILLEGAL_SASL_STATE). The connection goes on
    BROKER_CLOSED = "broker closed"  # before an answer ended it: how brokers refuse raw tokens (KIP-152)
    CLIENT_CLOSED = "client closed"
    GIVEN_UP = "given up"  # another handshake on the connection took its place
    UNKNOWN = "unknown"  # the capture does not show it


class LoginsKey(NamedTuple):
    """Whose logins count together."""

    client_id: str | None
    address: str
    broker: str
    mechanism: str | None
    principal: str | None


class Login:
    """A login on a connection, from its handshake to the answer that ended it.

    `ended_ns` is the time of that response or of the close, None if neither was seen. `broker_ns` is the
    broker's time for the answers, to `tokens` and handshake together. `lifetime_ms` is the session lifetime
    in the broker's answer, 0 for endless, None if its version does not contain it. `is_clear` means that no
    exchange is missing that may have ended it.
    """

    __slots__ = (
        "again", "broker", "broker_ns", "client", "connection", "ended_ns", "error", "first", "is_clear",
        "is_wanted", "lifetime_ms", "mechanism", "message", "offered", "outcome", "principal", "started_ns",
        "tokens",
    )  # fmt: skip

    def __init__(self, first: Evidence, client: Client, broker: str, again: bool) -> None:
        self.first = first
        self.connection = first.connection
        self.started_ns = first.sent_ns or first.answered_ns
        self.client = client
        self.broker = broker
        self.again = again
        self.mechanism: str | None = None
        self.principal: str | None = None
        self.offered: tuple[str, ...] = ()
        self.tokens = 0
        self.broker_ns = 0
        self.ended_ns: int | None = None
        self.outcome = Outcome.UNKNOWN
        self.error: str | None = None
        self.message: str | None = None
        self.lifetime_ms: int | None = None
        self.is_wanted = False
        self.is_clear = True

    @property
    def key(self) -> LoginsKey:
        """With what it counts."""
        return LoginsKey(
            self.client.client_id, self.client.address, self.broker, self.mechanism, self.principal
        )

    @property
    def took_ns(self) -> int | None:
        """Time from the first byte of the handshake to the end, or None if that was not seen."""
        return None if self.ended_ns is None else max(self.ended_ns - self.started_ns, 0)


class Logins:
    """Logins that count together. `took_ns` is of the logins whose end was seen.

    `software` is the last one named: some clients name it after their first login only.
    """

    __slots__ = ("again", "count", "errors", "first_ns", "last_ns", "outcomes", "software", "took_ns")

    def __init__(self) -> None:
        self.count = 0
        self.again = 0
        self.outcomes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.first_ns = self.last_ns = 0
        self.took_ns = Distribution()
        self.software: str | None = None

    def add(self, login: Login) -> None:
        """Count one more."""
        if not self.count:
            self.first_ns = self.last_ns = login.started_ns
        self.first_ns = min(self.first_ns, login.started_ns)
        self.last_ns = max(self.last_ns, login.started_ns)
        self.count += 1
        self.again += login.again
        self.software = login.client.software or self.software
        self.outcomes[str(login.outcome)] += 1
        if login.error is not None:
            self.errors[login.error] += 1
        if login.took_ns is not None:
            self.took_ns.add(login.took_ns)
