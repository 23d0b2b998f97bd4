"""The connections between two ends, found by when and where in the sequence space they were.

A first packet is compared with connections that may match, not with all: of N capture sets that saw two ends,
each has some, and a comparison of all with all took time by N².

Rules:
- The index only proposes: `Seen.distance` decides, with what a connection covers now. The result, the nearest
  and of equals the latest, is equal to the result of a search through all.
- Every connection is in it at least at its current place. Former places are harmless. When they are many, the
  index is rebuilt.
- Few connections need none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

from kdissect.model.packets.segment import ACK, SYN
from kdissect.net.streams.sequence import HALF, MASK, SMALL, add, distance

if TYPE_CHECKING:
    from kdissect.model.packets.segment import Segment
    from kdissect.net.streams.tcp import TcpConnection

# Clocks further apart are not two clocks of one network: a summer time that one host has not heard of is an
# hour.
CLOCK_NS = 2 * 60 * 60 * 1_000_000_000
# How far a stream may seem to be ahead at the other tap, whose clock differs: 2 s at 1 Gbit/s. It is a
# sixteenth of the sequence space, which is the share of streams with equal ends and no SYN that match by
# chance.
AHEAD = 1 << 28
NO_MATCH = 1 << 32
# Number of connections that are checked one by one: most ends have a connection or two in each of a few sets.
FEW = 16
# Shorter streams share the cells of 4 KB streams.
_SHORTEST = 12
_WHOLE = 32  # level of the cell that is all of the sequence space


Span = tuple[int, int, bool]
"""Sequence number of the first byte (-1: not known), of the next one, and whether the SYN was seen."""


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
        """Join another connection, unless it is in this set, and return the connection that counts."""
        if found is None or found.home == self.capture_set:
            return None
        self.root, self.home = found.root, found.home
        return self.root

    def look(self) -> tuple[Span, Span]:
        """Return the spans of its two streams so far."""
        if self.tcp is not None:
            self.spans = self.tcp.span(0), self.tcp.span(1)
            self.last_ns = self.tcp.last_time_ns or self.start_ns
        return self.spans

    def distance(self, segment: Segment, time_ns: int) -> int:
        """Return how far the first packet of a connection is off its stream, in bytes; NO_MATCH for another
        one.
        """
        spans = self.look()
        direction = 0 if segment.flow == self.flow else 1
        mine, peer = spans[direction], spans[1 - direction]
        if segment.seq < SMALL or not self.start_ns - CLOCK_NS <= time_ns <= self.last_ns + CLOCK_NS:
            return NO_MATCH
        if segment.flags & SYN:
            return _syn_distance(segment, mine, peer)
        if mine[0] >= 0:
            return _outside(segment.seq, mine)
        return _outside(segment.ack, peer) if segment.flags & ACK and peer[0] >= 0 else NO_MATCH


class Between:
    """The connections of all capture sets between two ends, `ends` being the lesser of their flow keys."""

    def __init__(self, ends: bytes) -> None:
        self.ends = ends
        self.seen: dict[int, Seen] = {}
        """By number, in the order in which they came."""
        self.open: dict[str, int] = {}
        """Of each capture set the number of the one that goes on."""
        self.looked_at = 0
        """When the open ones were looked at, in the time of who does that."""
        self._next = 0
        self._index: _Index | None = None

    def add(self, seen: Seen) -> int:
        """Add a connection and return its number."""
        number = self._next
        self._next += 1
        self.seen[number] = seen
        if self._index is not None:
            self.moved(number)
        elif len(self.seen) > FEW:
            self._make()
        return number

    def forget(self, number: int) -> None:
        """One that is over."""
        del self.seen[number]
        if self._index is not None:
            self._index.forget(number)

    @property
    def is_indexed(self) -> bool:
        """Whether it needs calls of `moved`."""
        return self._index is not None

    def moved(self, number: int) -> None:
        """More is known of a connection than when it was added."""
        if self._index is None:
            return
        self._index.add(number, self.seen[number])
        if self._index.size > 4 * len(self.seen) + FEW:
            self._make()

    def _make(self) -> None:
        self._index = _Index(self.ends)
        for number, seen in self.seen.items():
            self._index.add(number, seen)

    def nearest(self, segment: Segment, capture_set: str, start_ns: int) -> Seen | None:
        """Return the connection of another set that fits the first segment best, and the latest
        among equals.
        """
        if segment.seq < SMALL:
            return None
        search = _Search(self.seen, segment, capture_set, start_ns)
        if self._index is None:
            search.ask_each(list(self.seen))
        else:
            self._index.ask(search)
        return self.seen.get(search.number)


class _Search:
    """The best match so far: how far off the first segment is, and the number of the connection."""

    __slots__ = ("capture_set", "number", "off", "seen", "segment", "start_ns")

    def __init__(self, seen: dict[int, Seen], segment: Segment, capture_set: str, start_ns: int) -> None:
        self.seen = seen
        self.segment = segment
        self.capture_set = capture_set
        self.start_ns = start_ns
        self.off = NO_MATCH
        self.number = -1

    def ask(self, number: int) -> None:
        """Look at one."""
        seen = self.seen.get(number)
        if seen is None or seen.capture_set == self.capture_set:
            return
        off = seen.distance(self.segment, self.start_ns)
        if off < NO_MATCH and self.may_win(off, number):
            self.off, self.number = off, number

    def may_win(self, off: int, number: int) -> bool:
        """Return whether one that is so far off would be nearer, or later."""
        return off < self.off or (off == self.off and number > self.number)

    def ask_each(self, numbers: list[int]) -> None:
        """Check the connections in a list that may win, the latest first."""
        for number in reversed(numbers):
            if not self.may_win(0, number):
                return
            self.ask(number)


class _Index:
    """Streams by the times at which they may be met.

    A window of level n has 2^n times `CLOCK_NS`, so that each connection is in at most two of its level.
    """

    def __init__(self, ends: bytes) -> None:
        self.size = 0
        self._ends = ends
        self._windows: dict[tuple[int, int], _Window] = {}
        self._levels: dict[int, int] = {}
        self._standing: dict[int, tuple[object, ...]] = {}

    def add(self, number: int, seen: Seen) -> None:
        spans = seen.look() if seen.flow == self._ends else seen.look()[::-1]
        first, last = seen.start_ns - CLOCK_NS, seen.last_ns + CLOCK_NS
        if last < first:  # its clock went back by more: its time span is empty
            return
        level = max(1, ((last - first) // CLOCK_NS).bit_length())
        size = CLOCK_NS << level
        stands = level, first // size, last // size, spans
        if self._standing.get(number) == stands:
            return
        self._standing[number] = stands
        self._levels[level] = size
        self.size += 1
        for slot in {first // size, last // size}:
            window = self._windows.get((level, slot))
            if window is None:
                window = self._windows[level, slot] = _Window()
            window.add(number, spans)

    def forget(self, number: int) -> None:
        self._standing.pop(number, None)

    def ask(self, search: _Search) -> None:
        side = 0 if search.segment.flow == self._ends else 1
        for level, size in self._levels.items():
            window = self._windows.get((level, search.start_ns // size))
            if window is not None:
                window.ask(search, side)


class _Window:
    """Streams at about one time, by side, with a separate list of streams whose other side is unknown."""

    __slots__ = ("alone", "streams")

    def __init__(self) -> None:
        self.streams = _Streams(), _Streams()
        self.alone = _Streams(), _Streams()

    def add(self, number: int, spans: tuple[Span, Span]) -> None:
        for side, span in enumerate(spans):
            if span[0] >= 0:
                self.streams[side].add(number, span)
                if spans[1 - side][0] < 0:
                    self.alone[side].add(number, span)

    def ask(self, search: _Search, side: int) -> None:
        segment = search.segment
        mine, peer = self.streams[side], self.alone[1 - side]
        if not segment.flags & SYN:
            mine.ask_around(search, segment.seq)
            if segment.flags & ACK:
                peer.ask_around(search, segment.ack)
            return
        mine.ask_from(search, add(segment.seq, 1))  # a SYN takes one sequence number, RFC 9293 section 3.4
        if segment.flags & ACK:
            peer.ask_at(search, segment.ack)


class _Streams:
    """Of one side: where streams begin and end, and what they cover.

    A cell of level n has 2^n sequence numbers, so that each stream is in at most two of its level. The
    numbers of connections in it ascend.
    """

    __slots__ = ("_cells", "_ends", "_joined", "_levels", "_opened")

    def __init__(self) -> None:
        self._opened: list[tuple[int, int]] = []  # streams with a SYN, as (begin, - number), like
        self._joined: list[tuple[int, int]] = []  # streams that a set has from a later point on
        self._ends: list[tuple[int, int]] = []  # (end, number)
        self._cells: dict[tuple[int, int], list[int]] = {}
        self._levels: set[int] = set()

    def add(self, number: int, span: Span) -> None:
        start, end, is_start = span
        insort(self._opened if is_start else self._joined, (start, -number))
        insort(self._ends, (end, number))
        length = (end - start) & MASK
        level = max(_SHORTEST, length.bit_length()) if length < HALF else _WHOLE
        self._levels.add(level)
        for slot in {start >> level, end >> level}:
            cell = self._cells.setdefault((level, slot), [])
            at = bisect_left(cell, number)
            if at == len(cell) or cell[at] != number:
                cell.insert(at, number)

    def ask_around(self, search: _Search, place: int) -> None:
        """Those that cover a place, or are near it."""
        for level in self._levels:
            search.ask_each(self._cells.get((level, place >> level), []))
        _ask_below(search, self._ends, place)
        _ask_above(search, self._opened, place)
        _ask_above(search, self._joined, place)

    def ask_from(self, search: _Search, place: int) -> None:
        """Those that begin at a place with their SYN, or later without one."""
        self.ask_at(search, place)
        _ask_above(search, self._joined, place)

    def ask_at(self, search: _Search, place: int) -> None:
        """Those that begin at a place with their SYN."""
        for at in range(bisect_left(self._opened, (place, -NO_MATCH)), len(self._opened)):
            begin, number = self._opened[at]
            if begin != place or not search.may_win(0, -number):
                return
            search.ask(-number)


def _ask_above(search: _Search, points: list[tuple[int, int]], place: int) -> None:
    """Those that begin at a place or above, the nearest first, while they may win."""
    at = bisect_left(points, (place, -NO_MATCH))
    for turn in range(len(points)):
        begin, number = points[(at + turn) % len(points)]
        away = (begin - place) & MASK
        if away >= AHEAD or not search.may_win(away, -number):
            return
        search.ask(-number)


def _ask_below(search: _Search, points: list[tuple[int, int]], place: int) -> None:
    """Do the same for streams that end at a place or below."""
    at = bisect_right(points, (place, NO_MATCH)) - 1
    for turn in range(len(points)):
        end, number = points[(at - turn) % len(points)]
        away = (place - end) & MASK
        if away >= AHEAD or not search.may_win(away, number):
            return
        search.ask(number)


def _syn_distance(segment: Segment, mine: Span, peer: Span) -> int:
    first = add(segment.seq, 1)  # a SYN takes one sequence number, RFC 9293 section 3.4
    start, _, is_start = mine
    if start >= 0 and is_start:
        return 0 if first == start else NO_MATCH
    if start >= 0:  # the other set has the stream from later on
        off = distance(start, first)
        return off if 0 <= off < AHEAD else NO_MATCH
    if segment.flags & ACK and peer[0] >= 0 and peer[2]:
        return 0 if segment.ack == peer[0] else NO_MATCH
    return NO_MATCH


def _outside(seq: int, span: Span) -> int:
    """Return how far a number lies outside of what a stream covered: 0 within it."""
    start, end, _ = span
    behind, before = distance(seq, end), distance(start, seq)
    is_long = (end - start) & MASK >= HALF
    off = max(0, behind, 0 if is_long else before)
    return off if off < AHEAD else NO_MATCH
