"""Connections that two capture sets have: one traffic, tapped at two places, known by its first packet.

Rules:
- Connections of two sets are twins if they have the same two ends, the sequence numbers of one TCP
  connection, and times no further apart than clocks are wrong. Where both sets have a SYN, its number must be
  the same; else the first number that a set has must lie where the other one's stream was.
- Small numbers are those of tools that write packets and begin all connections alike: they prove nothing. Of
  real ones, whose first number is random (RFC 9293 section 3.4.1), one in 65,536 is counted twice for that.
- The one that comes first in canonical order is counted, the others name it (`ConnectionInfo.same_as`): where
  clocks are right that is the tap nearest to who opened the connection. It is known before anything of the
  connection is told, live and on many machines, where "the one with fewer losses" is known at the end only.
- Two connections of one set are never twins, whatever others they have: what a set sees again is new to it.
- Sets stay apart all the same: twins share nothing but their mark.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kdissect.model.segment import ACK, SYN, Segment, reverse_flow
from kdissect.net.sequence import HALF, MASK, add, distance

if TYPE_CHECKING:
    from kdissect.net.tcp import TcpConnection
    from kdissect.session.info import ConnectionInfo

# Clocks further apart are not two clocks of one network: a summer time that one host has not heard of is an
# hour.
CLOCK_NS = 2 * 60 * 60 * 1_000_000_000
# How far a stream may seem to be ahead at the other tap, whose clock differs: 2 s at 1 Gbit/s. It is a
# sixteenth of the sequence space: of streams with the same ends by chance, and no SYN, so many would match.
AHEAD = 1 << 28
# Sequence numbers below are no sign.
SMALL = 1 << 16
# Connections that are over and may still come in another set, some 500 bytes each.
MAX_CLOSED = 100_000

Span = tuple[int, int, bool]
"""Sequence number of the first byte (-1: not known), of the next one, and whether the SYN was seen."""
_NO_MATCH = 1 << 32


class Seen:
    """A connection of one capture set. `root` is the connection that is counted, `home` that one's set."""

    __slots__ = ("capture_set", "flow", "home", "last_ns", "root", "spans", "start_ns", "tcp")

    def __init__(
        self, connection: str, capture_set: str, flow: bytes, start_ns: int, tcp: TcpConnection | None
    ) -> None:
        self.capture_set = self.home = capture_set
        self.root = connection
        self.flow = flow  # of direction 0 in `tcp`
        self.start_ns = self.last_ns = start_ns
        self.tcp = tcp
        self.spans: tuple[Span, Span] = ((-1, -1, False), (-1, -1, False))

    def join(self, found: Seen | None) -> str | None:
        """Be the same as another connection, unless that is one of this set; gives the one that counts."""
        if found is None or found.home == self.capture_set:
            return None
        self.root, self.home = found.root, found.home
        return self.root

    def look(self) -> tuple[Span, Span]:
        """What its two streams cover so far."""
        if self.tcp is not None:
            self.spans = self.tcp.span(0), self.tcp.span(1)
            self.last_ns = self.tcp.last_time_ns or self.start_ns
        return self.spans

    def distance(self, segment: Segment, time_ns: int) -> int:
        """How far the first packet of a connection is off its stream, in bytes; _NO_MATCH for another one."""
        spans = self.look()
        direction = 0 if segment.flow == self.flow else 1
        mine, peer = spans[direction], spans[1 - direction]
        if segment.seq < SMALL or not self.start_ns - CLOCK_NS <= time_ns <= self.last_ns + CLOCK_NS:
            return _NO_MATCH
        if segment.flags & SYN:
            return _syn_distance(segment, mine, peer)
        if mine[0] >= 0:
            return _outside(segment.seq, mine)
        return _outside(segment.ack, peer) if segment.flags & ACK and peer[0] >= 0 else _NO_MATCH


class Twins:
    """Remembers the connections of all capture sets. For an `Analyzer` that sees more than one of them."""

    def __init__(self) -> None:
        self._seen: dict[bytes, list[Seen]] = {}
        self._open: dict[str, Seen] = {}
        self._closed: deque[tuple[bytes, Seen]] = deque()

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """A connection begins with a segment: sets its `same_as`."""
        key = _key(segment.flow)
        known = self._seen.setdefault(key, [])
        seen = Seen(info.id, info.capture_set, segment.flow, info.start_ns, tcp)
        info.same_as = seen.join(nearest(known, segment, info.capture_set, info.start_ns))
        known.append(seen)
        self._open[info.id] = seen

    def close(self, info: ConnectionInfo) -> None:
        """A connection ends; its `tcp` is still there."""
        seen = self._open.pop(info.id, None)
        if seen is None:
            return
        seen.look()
        seen.tcp = None
        self._closed.append((_key(seen.flow), seen))
        while self._closed and (
            len(self._closed) > MAX_CLOSED or seen.last_ns - self._closed[0][1].last_ns > 2 * CLOCK_NS
        ):
            self._forget(*self._closed.popleft())

    def _forget(self, key: bytes, seen: Seen) -> None:
        known = self._seen[key]
        known.remove(seen)
        if not known:
            del self._seen[key]


def nearest(known: list[Seen], segment: Segment, capture_set: str, start_ns: int) -> Seen | None:
    """The connection of another set that the first segment of one fits best; the latest of equals."""
    best, found = _NO_MATCH, None
    for seen in known:
        if seen.capture_set != capture_set:
            off = seen.distance(segment, start_ns)
            if off < _NO_MATCH and off <= best:
                best, found = off, seen
    return found


def _key(flow: bytes) -> bytes:
    return min(flow, reverse_flow(flow))


def _syn_distance(segment: Segment, mine: Span, peer: Span) -> int:
    first = add(segment.seq, 1)  # a SYN takes one sequence number, RFC 9293 section 3.4
    start, _, is_start = mine
    if start >= 0 and is_start:
        return 0 if first == start else _NO_MATCH
    if start >= 0:  # the other set has the stream from later on
        off = distance(start, first)
        return off if 0 <= off < AHEAD else _NO_MATCH
    if segment.flags & ACK and peer[0] >= 0 and peer[2]:
        return 0 if segment.ack == peer[0] else _NO_MATCH
    return _NO_MATCH


def _outside(seq: int, span: Span) -> int:
    """How far a number lies outside of what a stream covered: 0 within it."""
    start, end, _ = span
    behind, before = distance(seq, end), distance(start, seq)
    is_long = (end - start) & MASK >= HALF
    off = max(0, behind, 0 if is_long else before)
    return off if off < AHEAD else _NO_MATCH
