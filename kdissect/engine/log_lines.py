"""Lines of request logs next to packets of the same exchanges: a captured exchange has its line, with the
times of the broker.

A line is found by both ends of its connection, API, version and correlation id, and by its time, for a
connection may use all of them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kdissect.model.frame import JoinedFrame
from kdissect.model.packets.packet import FILE_SHIFT, NEVER_NS, PlainPacket
from kdissect.model.packets.segment import flow_key
from kdissect.net.parser import SegmentParser
from kdissect.session.events import Events
from kdissect.session.exchange import Exchange, State

if TYPE_CHECKING:
    from kdissect.model.packets.logged import Logged

SECOND_NS = 1_000_000_000
# The clocks of the broker and of the capture may differ by this much. Lines that are older are left out.
APART_NS = 2 * SECOND_NS
# Lines that wait for their exchange: a minute of a broker with 3,000 requests a second.
LINES_KEPT = 200_000
_HEAD = 12  # bytes of size, API key, version and correlation id
_SASL = frozenset({17, 36})  # SaslHandshake and SaslAuthenticate: no log has them

_SomeEvents = TypeVar("_SomeEvents", bound=Events)

Key = tuple[bytes, bytes]
"""Flow of a request, and its API key, version and correlation id as they stand in its header."""


Span = tuple[int, int]
"""First and last time of what was read."""


class Joined(NamedTuple):
    """Counts: `exchanges` with a line, `captured` complete exchanges of packets without one, and all `lines`
    of the log. Then the times of the lines and of the exchanges; None without any.
    """

    exchanges: int
    captured: int
    lines: int
    log_span: Span | None = None
    packets_span: Span | None = None

    @property
    def logged(self) -> int:
        """Lines of exchanges that were not captured."""
        return max(0, self.lines - self.exchanges)

    @property
    def is_apart(self) -> bool:
        """Whether the log and the packets are of different times."""
        log, packets = self.log_span, self.packets_span
        if log is None or packets is None or self.exchanges:
            return False
        return log[1] < packets[0] or packets[1] < log[0]

    def with_shard(self, other: Joined) -> Joined:
        """Return the counts of two processes that share the connections: each reads all lines."""
        exchanges, captured = self.exchanges + other.exchanges, self.captured + other.captured
        packets = self.packets_span
        if other.packets_span is not None:
            packets = _spanned(packets, *other.packets_span)
        log = self.log_span or other.log_span
        return Joined(exchanges, captured, max(self.lines, other.lines), log, packets)


def _spanned(span: Span | None, first_ns: int, last_ns: int) -> Span:
    return (first_ns, last_ns) if span is None else (min(span[0], first_ns), max(span[1], last_ns))


class LogLines:
    """The lines of logs, in the order of their ends, for exchanges that come in the order of time.

    `logs` are the batches of packets that are built from each log.
    """

    def __init__(self, logs: Iterable[Iterable[Iterable[PlainPacket]]]) -> None:
        self._lines = merge(*(_lines(chain.from_iterable(log)) for log in logs), key=_end_of)
        self._waiting: dict[Key, deque[_Line]] = {}
        self._in_order: deque[tuple[Key, _Line]] = deque()
        self._read_ns = NEVER_NS
        self._log_span: Span | None = None
        self._span: Span | None = None
        self._exchanges = self._captured = self._lines_read = 0

    def join(self, exchange: Exchange) -> None:
        """Give an exchange its line, if there is one."""
        last = exchange.response or exchange.request
        if last is None or exchange.request is None or exchange.api_key is None or exchange.logged:
            return
        self._read_until(last.end_time_ns + APART_NS)
        asked_ns, ended_ns = exchange.request.time_ns, last.end_time_ns
        self._span = _spanned(self._span, asked_ns, ended_ns)
        line = self._take(exchange, asked_ns, ended_ns)
        if line is None:
            self._captured += exchange.state is State.COMPLETE and exchange.api_key not in _SASL
            return
        self._exchanges += 1
        if exchange.response is not None:
            exchange.response = JoinedFrame(exchange.response, line.logged)
        else:
            exchange.request = JoinedFrame(exchange.request, line.logged)

    def join_all(self, events: _SomeEvents) -> _SomeEvents:
        """Give the exchanges among events their lines."""
        for event in events:
            if isinstance(event, Exchange):
                self.join(event)
        return events

    def close(self) -> Joined:
        """Read to the end of the logs, and return the counts."""
        for line in self._lines:
            self._keep(line)
        return Joined(self._exchanges, self._captured, self._lines_read, self._log_span, self._span)

    def _take(self, exchange: Exchange, asked_ns: int, ended_ns: int) -> _Line | None:
        info = exchange.connection
        assert exchange.request is not None
        key = flow_key(info.client, info.broker), exchange.request.data[: _HEAD - 4]
        for line in self._waiting.get(key, ()):
            if asked_ns - APART_NS <= line.read_ns <= ended_ns + APART_NS:
                self._forget(key, line)
                return line
        return None

    def _read_until(self, time_ns: int) -> None:
        while self._read_ns < time_ns:
            line = next(self._lines, None)
            if line is None:
                return
            self._read_ns = max(self._read_ns, line.end_ns)
            self._keep(line)

    def _keep(self, line: _Line) -> None:
        self._lines_read += 1
        self._log_span = _spanned(self._log_span, line.read_ns, line.end_ns)
        self._waiting.setdefault(line.key, deque()).append(line)
        self._in_order.append((line.key, line))
        if len(self._in_order) > LINES_KEPT:
            self._forget(*self._in_order.popleft())

    def _forget(self, key: Key, line: _Line) -> None:
        """Forget a line. One that an exchange took is forgotten already."""
        left = deque(one for one in self._waiting.get(key, ()) if one is not line)
        if left:
            self._waiting[key] = left
        else:
            self._waiting.pop(key, None)


class _Line(NamedTuple):
    """A line: the time at which the broker had read the request, and that of the line."""

    key: Key
    read_ns: int
    end_ns: int
    logged: Logged


def _end_of(line: _Line) -> int:
    return line.end_ns


def _lines(packets: Iterable[PlainPacket]) -> Iterator[_Line]:
    """Yield the lines that packets were built from: the first packet of a line begins its request."""
    parser, last = SegmentParser(), None
    for packet in packets:
        (segment,) = parser.parse_batch((packet,))
        local_end = parser.local_ends.pop(packet[0], None)
        logged = None if local_end is None else local_end.logged
        if segment is None or logged is None:
            continue
        place = packet[0] >> FILE_SHIFT, logged.line, logged.connection
        if place != last:
            last = place
            took_ns = sum(logged.phases or ())
            yield _Line((segment[0], segment[5][4:_HEAD]), packet[1], packet[1] + took_ns, logged)
