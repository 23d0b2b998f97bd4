"""Times that brokers asked clients to be silent, and whether clients were (KIP-219).

Key: the connection. Order: that of its requests. From certain versions on a broker answers first and then
expects the client to wait. In earlier versions it delayed the response itself, and the client need not wait.
"""

from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

from kdissect.history.api_keys import FETCH
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.sessions.fetch_parts import brings_records
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS
from kdissect.schema import protocol_messages

# the largest brokers have this number of open connections, with 200 bytes of state each
CONNECTIONS_KEPT = 20_000
# A client measures in its own clock from the moment it read the response, and a request may cross the
# response. 50 ms is longer than a round trip within a data centre or a timer's step.
GRACE_NS = 50_000_000
# A throttle time is that of the wait if they differ by no more than a network and a timer's step do.
WAIT_SLACK_NS = 5_000_000
LEAST_WAIT_NS = 20_000_000  # shorter waits are equal by chance
WAITS = 3  # in a row
_MS = 1_000_000
# The first version whose client must wait: `shouldClientThrottle` of the response classes (KIP-219). APIs
# that are not here: every version that has the field (org.apache.kafka.common.requests.AbstractResponse).
_CLIENT_WAITS_FROM = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2,
    21: 1, 22: 1, 24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1,
    39: 1, 40: 1, 41: 1, 42: 1,
}  # fmt: skip


class ThrottleFact(StrEnum):
    """Facts about throttling."""

    THROTTLED = "throttled"  # seen: the milliseconds
    RESPECTED = "respected"  # the first request after a throttle came late enough
    IGNORED = "ignored"  # a request came too early (expected and seen: milliseconds after the response)
    IS_WAIT = "is_wait"  # as long as the Fetch waited for records, again and again (expected: the wait)
    NEGATIVE = "negative"  # a negative time


class Throttle:
    """State of one connection. Times are nanoseconds of the capture's clock."""

    __slots__ = ("answered_ns", "by", "ignored", "throttled", "total_ms", "until_ns", "waits")

    def __init__(self) -> None:
        self.until_ns = NEVER_NS  # then it is not throttled
        self.answered_ns = 0
        self.by: Evidence | None = None
        self.throttled = 0
        self.ignored = 0
        self.total_ms = 0
        self.waits = 0
        """Empty Fetches in a row whose throttle time was their wait."""


@lru_cache(maxsize=4096)  # 368 pairs of key and version, and what hostile requests name
def client_must_wait(api_key: int, api_version: int) -> bool:
    """Return whether a client owes silence after a throttle time in this response."""
    api = protocol_messages.api(api_key)
    if api is None:
        return False
    first = _CLIENT_WAITS_FROM.get(api_key)
    if first is not None:
        return api_version >= first
    return has_throttle(api_key, api_version)


@lru_cache(maxsize=4096)  # as above
def has_throttle(api_key: int, api_version: int) -> bool:
    """Return whether a response has the field.

    One in another version than its request's is a refusal without it.
    """
    api = protocol_messages.api(api_key)
    fields = () if api is None else api.response.root.fields
    return any(field.name == "throttle_time_ms" and api_version in field.versions for field in fields)


class Throttling:
    """Throttles by connection."""

    api_keys: ClassVar[frozenset[int] | None] = None

    def __init__(self) -> None:
        self.connections: Table[str, Throttle] = Table(CONNECTIONS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        known = self.connections.get(view.info.id) if len(self.connections) else None
        facts = [] if known is None else _next_request(view, known)
        if not has_throttle(view.key, view.version):
            return facts
        throttle_ms = getattr(view.response, "throttle_time_ms", 0)
        if not throttle_ms:
            return facts
        key = (view.info.id,)
        path = "throttle_time_ms"
        if throttle_ms < 0:
            return [*facts, Fact(ThrottleFact.NEGATIVE, key, view.evidence, "response", path, 0, throttle_ms)]
        known = known or self.connections.put(view.info.id, Throttle())
        known.throttled += 1
        known.total_ms += throttle_ms
        if client_must_wait(view.key, view.version):
            _start(view, known, throttle_ms)
        facts.append(Fact(ThrottleFact.THROTTLED, key, view.evidence, "response", path, None, throttle_ms))
        return [*facts, *_is_wait(view, known, throttle_ms)]


def _is_wait(view: ExchangeView, known: Throttle, throttle_ms: int) -> list[Fact]:
    """Return whether a broker reports the time that a Fetch waited for records as the time to be silent.

    Both can be equal once by chance, but not WAITS times in a row.
    """
    latency_ns = view.exchange.latency_ns
    if view.key != FETCH or latency_ns is None or not client_must_wait(view.key, view.version):
        return []
    apart_ns = abs(latency_ns - throttle_ms * _MS)
    is_wait = latency_ns >= LEAST_WAIT_NS and apart_ns <= max(WAIT_SLACK_NS, latency_ns // 20)
    known.waits = known.waits + 1 if is_wait and not brings_records(view.response) else 0
    if known.waits < WAITS:
        return []
    waited_ms, path = latency_ns // _MS, "throttle_time_ms"
    kind = ThrottleFact.IS_WAIT
    return [Fact(kind, (view.info.id,), view.evidence, "response", path, waited_ms, throttle_ms)]


def _start(view: ExchangeView, known: Throttle, throttle_ms: int) -> None:
    answered = view.evidence.answered_ns
    until = answered + throttle_ms * _MS
    if until > known.until_ns:
        known.until_ns, known.answered_ns, known.by = until, answered, view.evidence


def _next_request(view: ExchangeView, known: Throttle) -> list[Fact]:
    """Return whether a request keeps the silence that an earlier answer asked for."""
    if known.until_ns == NEVER_NS or view.exchange.request is None:
        return []
    sent = view.sent_ns
    if sent <= known.answered_ns + GRACE_NS:
        return []  # sent before the client could know
    early = sent < known.until_ns - GRACE_NS
    kind = ThrottleFact.IGNORED if early else ThrottleFact.RESPECTED
    expected = (known.until_ns - known.answered_ns) // _MS
    seen = (sent - known.answered_ns) // _MS
    earlier, known.until_ns = known.by, NEVER_NS
    known.ignored += early
    return [
        Fact(kind, (view.info.id,), view.evidence, "request", "", expected, seen, earlier, not view.losses)
    ]
