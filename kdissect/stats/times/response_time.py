"""The parts of an exchange's time: the broker's own, a quota's, or the wait a Fetch asked for.

- Latency is first byte of the response minus last byte of the request.
- The part of it until the response before on the connection had come is not the broker's time for this
  request (`Exchange.in_line_ns`): it was in line.
- A throttle time is part of it only if the broker delayed the answer itself. From certain versions on it
  answers first and expects the client to wait (KIP-219), and the throttle comes after the latency.
- A Fetch without data waits for up to its max wait (kafka.server.DelayedFetch). One
  that was answered without records after that time waited for it. One answered long before did not wait.
  One answered with records at once found data waiting if an earlier answer had reported a higher high
  watermark. For any other Fetch the wire does not show how long it waited for data: its broker time is
  unknown, and it counts as `unclear`.
- A request log has the wait of each Fetch, and the throttle and the time in line are not part of its latency.
- JoinGroup and SyncGroup wait for the other members, Produce with acks=all for replicas: that is broker time
  here, because the wire does not separate it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.connections.throttling import client_must_wait
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.sessions.fetch_parts import FetchParts, brings_records, parts_of
from kdissect.session.exchange import Exchange
from kdissect.stats.watermarks import HighWatermarks, topic_of

_MS = 1_000_000
_HELD = frozenset({apis.FETCH, apis.SHARE_FETCH})
# Brokers time the wait in milliseconds, from when they read the request: what was answered this much earlier
# still waited for all of it.
_GRACE_NS = 5 * _MS
_EARLY = 10  # a part of the max wait: what came sooner did not wait for it
_READ_COMMITTED = 1  # KIP-98


class ResponseTime(NamedTuple):
    """Nanoseconds. `broker` is None if it cannot be separated from a wait for data, of unknown length.

    `in_line` is the part of the latency until the response before had come (`Exchange.in_line_ns`).
    `throttle` is the broker's throttle time, within the latency or after it. `wait` is the elapsed part of a
    Fetch's max wait. `empty_early`: a Fetch without records that did not wait (`is_empty_early`).
    """

    latency: int
    broker: int | None
    throttle: int
    wait: int
    empty_early: bool = False
    in_line: int = 0


def response_time(view: ExchangeView, watermarks: HighWatermarks) -> ResponseTime | None:
    """Return the times of an exchange, or None without both frames. Learns high watermarks from Fetch
    answers.
    """
    latency = view.exchange.latency_ns
    if latency is None:
        return None
    latency = max(latency, 0)  # a merge of two clocks may put an answer before its question
    answer = view.response
    throttle = max(sent(answer, "throttle_time_ms", 0) or 0, 0) * _MS
    parts = _parts(view)
    early = parts is not None and _did_not_wait(view.exchange, parts)
    is_empty_early = early and parts is not None and parts.min_bytes > 0
    if (phases := view.exchange.phases) is not None:
        wait = min(phases.remote, latency) if view.key in _HELD else 0
        return ResponseTime(latency, latency - wait, throttle, wait, is_empty_early)
    in_line = view.exchange.in_line_ns
    broker: int | None = latency - in_line
    if throttle and not client_must_wait(view.key, view.version):
        broker = max(latency - in_line - throttle, 0)
    wait = 0
    if view.key in _HELD:
        broker, wait = _held(view, broker or 0, watermarks, early)
    return ResponseTime(latency, broker, throttle, wait, is_empty_early, in_line)


def _held(
    view: ExchangeView, time: int, watermarks: HighWatermarks, did_not_wait: bool
) -> tuple[int | None, int]:
    """Broker time and wait of a Fetch or ShareFetch that took `time`."""
    request, answer = view.request, view.response
    if request is None or answer is None:
        return None, 0
    if view.key == apis.FETCH:
        ready = _found_data(view, watermarks)
        _learn(view, watermarks)
    else:
        ready = False
    max_wait = request.max_wait_ms * _MS
    if max_wait <= 0 or sent(answer, "error_code", 0):
        return time, 0
    if not brings_records(answer) and time >= max_wait - _GRACE_NS:
        wait = min(time, max_wait)
        return time - wait, wait
    return (time if ready or did_not_wait else None), 0


def _parts(view: ExchangeView) -> FetchParts | None:
    if view.key != apis.FETCH or view.request is None or view.response is None:
        return None
    return parts_of(view.request, view.response)


def is_empty(parts: FetchParts) -> bool:
    """Return whether a Fetch's answer is empty: no records, no error, no replica to read from (KIP-392)."""
    if not parts.is_answered or parts.is_refused:
        return False
    if not parts.answers:  # in a session: there is no news. Without one the broker refused the request.
        return bool(parts.answered_session)
    return not (parts.tells_anything or parts.has_records)


def is_empty_early(exchange: Exchange, parts: FetchParts) -> bool:
    """Return whether a Fetch was answered without records in less than a tenth of its max wait.

    A broker delays such a Fetch (KIP-74, kafka.server.DelayedFetch). If it does not, its clients ask again at
    once: they spin. The broker does not read a throttled client's requests for the throttle time (KIP-219),
    and it does not delay a Fetch that wants no bytes.
    """
    return parts.min_bytes >= 1 and _did_not_wait(exchange, parts)


def _did_not_wait(exchange: Exchange, parts: FetchParts) -> bool:
    latency = exchange.latency_ns
    if latency is None or parts.throttle_ms > 0:
        return False
    return (latency - exchange.in_line_ns) * _EARLY < parts.max_wait_ms * _MS and is_empty(parts)


def _found_data(view: ExchangeView, watermarks: HighWatermarks) -> bool:
    """Return whether a partition had records for the Fetch before it was sent."""
    request = view.request
    if request.min_bytes > 1:
        return False  # one record may be too few
    capture_set, committed = view.info.scope, _reads_committed(request)
    for topic, row in _partitions(request.topics):
        known = watermarks.at((capture_set, topic, row.partition, committed), view.sent_ns)
        if known is not None and 0 <= row.fetch_offset < known:
            return True
    return False


def _learn(view: ExchangeView, watermarks: HighWatermarks) -> None:
    frame = view.exchange.response
    time_ns = 0 if frame is None else frame.end_time_ns
    capture_set, committed = view.info.scope, _reads_committed(view.request)
    for topic, row in _partitions(view.response.responses):
        if not row.error_code:
            offset = row.last_stable_offset if committed else row.high_watermark
            watermarks.learn((capture_set, topic, row.partition_index, committed), time_ns, offset)


def _reads_committed(request: Any) -> bool:
    return bool(sent(request, "isolation_level", 0) == _READ_COMMITTED)


def _partitions(topics: Any) -> Iterator[tuple[str | bytes, Any]]:
    for topic in topics or ():
        name = topic_of(topic)
        for row in topic.partitions or ():
            yield name, row
