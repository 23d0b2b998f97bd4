"""The shortest possible wait of a client for a response, and the part with the request at the broker.

The parts of `stats.times.time_split`, without the facts from other exchanges:

- A client waits from the last byte of its request to the first byte of the response. The shortest round trip
  of the connection, bytes that were sent again, a throttle time that the broker waited itself, and the wait
  for records that a Fetch asks for are no wait for the broker.
- A broker reads the next request of a connection when it has answered the one before (spec/000 Network). A
  request that was in line for the time of a round trip was at the broker from then on.

A Fetch may be answered before its max wait is over: its time at the broker is longer by an unknown amount.

A request log has the broker's own times, and nothing of this is left to infer: the request was at the broker
until a thread took the response, except for the time in which it waited for records or other members.
"""

from __future__ import annotations

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.connections.throttling import client_must_wait
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.logged import Phases
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

FETCHES = frozenset({apis.FETCH, apis.SHARE_FETCH})
"""APIs whose requests wait for records, for the time in the request."""
WAITING = FETCHES | {11, 14, 59}
"""APIs whose responses wait on purpose: JoinGroup, SyncGroup and FetchSnapshot besides."""
_MS = 1_000_000
_MISSING = (AnomalyKind.GAP, AnomalyKind.SKIPPED_BYTES)


def waited_ns(view: ExchangeView) -> int:
    """Return how long the client waited for the broker, also while the request was in line, or 0 if
    unknown.
    """
    exchange, request, response = view.exchange, view.exchange.request, view.exchange.response
    if exchange.phases is not None:
        return sum(waited_phases(exchange) or ())
    latency = exchange.latency_ns
    if (
        latency is None
        or (view.key == apis.FETCH and view.request is None)  # how long it may wait is not known
        or request is None
        or response is None
        or (view.key in WAITING and view.key != apis.FETCH)
    ):
        return 0
    latency -= exchange.broker_trip_ns or 0
    if exchange.delays:
        latency -= exchange.delay_within(request.end_time_ns, response.time_ns)
    latency -= asked_wait_ns(view)
    throttle_ms = sent(view.response, "throttle_time_ms", 0) or 0
    if throttle_ms > 0 and not client_must_wait(view.key, view.version):
        latency -= throttle_ms * _MS
    return latency


def waited_phases(exchange: Exchange) -> Phases | None:
    """Return the phases that a request log has, without the time in which a client does not wait for the
    broker: that for records or other members, and that of the sending. None without a log.
    """
    line = exchange.log_line
    phases = None if line is None else line.phases
    if phases is None:
        return None
    return phases._replace(send=0, remote=0 if exchange.api_key in WAITING else phases.remote)


def at_broker_ns(exchange: Exchange, waited: int) -> int:
    """Return the part of a wait (`waited_ns`) in which the request did not queue after earlier ones."""
    if exchange.phases is not None:
        return waited  # a broker logs no time before it read the request
    return waited - max(in_line_ns(exchange) - (exchange.broker_trip_ns or 0), 0)


def in_line_ns(exchange: Exchange) -> int:
    """Return how long an exchange was in line, also on its path. Delays count separately."""
    in_line, request = exchange.in_line_ns, exchange.request
    if not in_line or request is None or not exchange.delays:
        return in_line
    return in_line - exchange.delay_within(request.end_time_ns, request.end_time_ns + in_line)


def asked_wait_ns(view: ExchangeView) -> int:
    """Return how long a request asks the broker to wait for records."""
    if view.key not in FETCHES or view.request is None:
        return 0
    return max(sent(view.request, "max_wait_ms", 0) or 0, 0) * _MS


def unanswered_since_ns(view: ExchangeView) -> int | None:
    """Return when an unanswered request began to wait for the broker, or None if a response may be lost."""
    exchange, request = view.exchange, view.exchange.request
    if request is None or exchange.state is not State.UNANSWERED or exchange.api_key is None:
        return None
    if any(note.kind is AnomalyKind.GAP for note in exchange.anomalies or ()):
        return None
    if bytes_are_missing(view.info, request.time_ns):
        return None  # the response may be among bytes that were not read
    if view.key in FETCHES and view.request is None:
        return None  # how long it may wait is not known
    return request.end_time_ns + asked_wait_ns(view)


def bytes_are_missing(info: ConnectionInfo, since_ns: int) -> bool:
    """Return whether bytes of a connection were not captured, or not read, from a time on."""
    counts = info.anomalies_so_far()
    number = sum(counts[kind] for kind in _MISSING) if counts else 0
    if not number:
        return False
    log = info.tcp_log
    noted = [*info.anomalies, *(() if log is None else log.kept)]
    times = [one.time_ns for one in noted if one.kind in _MISSING]
    return len(times) < number or max(times) >= since_ns
