"""Connections that several capture sets have and that sequence numbers do not prove: those of `kdissect tap`.

The agent in a JVM sees calls, not packets: it invents sequence numbers, and what it records of TLS is
plaintext. So the bytes of exchanges are compared (`frame_samples`), before the captures are analysed.

Rules:
- Two connections are one if they have the same ends, times no further apart than clocks are wrong, and
  exchanges with the same bytes, and if no exchange contradicts that. A few equal exchanges prove it only
  where both were there at one time: a program that starts again says the same.
- The copy without gaps counts, of several the one of the capture set that saw most requests of all such
  connections: what one connection tells of a group or a topic is known to the others of its set. What only
  another copy has, because it began earlier or ended later, counts there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.engine.taps.frame_samples import FrameSamples, Match
from kdissect.engine.taps.tap_index import CLOCK_NS, FEW
from kdissect.session.events import ConnectionClosed, Event, Events
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind, Share

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdissect.model.endpoint import Endpoint
    from kdissect.model.packets.segment import Segment
    from kdissect.net.streams.tcp import TcpConnection

# Samples of all connections together, some 250 bytes each, and of one.
MAX_SAMPLES = 400_000
MAX_OF_ONE = 1024
# Fewer equal exchanges are what each start of a program says: ApiVersions, SASL, Metadata, FindCoordinator.
PROOF = 8
# Clocks that are kept in time differ by less. Connections with few equal exchanges must overlap within it.
NEAR_NS = 1_000_000_000

Ends = tuple["Endpoint", "Endpoint"]
Shares = Mapping[str, Share]
"""By connection. One that is not named has no copy."""


class CopySearch:
    """Takes all events of connections that may have copies, and gives which ones are copies."""

    def __init__(self) -> None:
        self._open: dict[str, FrameSamples] = {}
        self._over: dict[Ends, list[FrameSamples]] = {}
        self._samples = 0

    def add(self, event: Event) -> None:
        """Take the next event."""
        info = event.connection
        if isinstance(event, Exchange):
            samples = self._open.get(info.id)
            if samples is None:
                samples = self._open[info.id] = FrameSamples(info)
            before = len(samples)
            left = MAX_SAMPLES - self._samples
            samples.add(event, min(MAX_OF_ONE, before + left))
            self._samples += len(samples) - before
        elif isinstance(event, ConnectionClosed):
            samples = self._open.pop(info.id, None) or FrameSamples(info)
            samples.last_ns = max(info.end_ns, info.start_ns)
            samples.gaps = 0 if info.tcp is None else info.tcp.gaps
            if info.kind is ConnectionKind.KAFKA:
                ends = (info.client, info.broker)
                self._over.setdefault(ends, []).append(samples)

    def shares(self) -> dict[str, Share]:
        """What each connection that has a copy shares with it."""
        found: dict[str, Share] = {}
        requests = Counter[str]()
        for seen in self._over.values():
            for one in seen:
                requests[one.info.capture_set] += one.requests
        for seen in self._over.values():
            if len({one.info.capture_set for one in seen}) > 1:
                for group, matches in _groups(seen):
                    found.update(_shares(group, matches, requests))
        return found


class CopyMarks(DuplicateTaps):
    """`DuplicateTaps` that asks `find` first, once, which connections share what."""

    def __init__(self, find: Callable[[], Shares]) -> None:
        super().__init__()
        self._find: Callable[[], Shares] | None = find
        self._shares: Shares = {}

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """A connection begins with a segment."""
        if self._find is not None:
            find, self._find = self._find, None
            self._shares = find()
        share = self._shares.get(info.id) if self._shares else None
        if share is None:
            super().open(info, tcp, segment)
        else:
            mark(info, share)

    def counted(self, fed: Iterator[Events]) -> Iterator[Events]:
        """Events as they are given on: around one its connection counts if it does."""
        for events in fed:
            if isinstance(events, list):
                yield from _each_counted(events)
            else:
                yield events  # a block has none of a connection that shares only some exchanges

    def counted_ends(self, closing: Iterator[list[Event]]) -> Iterator[list[Event]]:
        """The same of events of the end."""
        for events in closing:
            yield from _each_counted(events)


def mark(info: ConnectionInfo, share: Share) -> None:
    """Say on a connection that begins what it shares."""
    info.same_as = share.inside
    info.share = None if share.is_whole else share


def _each_counted(events: list[Event]) -> Iterator[list[Event]]:
    """The same events. If a connection shares only some exchanges, its `same_as` is that of the event."""
    if all(event.connection.share is None for event in events):
        yield events
        return
    for event in events:
        info = event.connection
        share = info.share
        if share is None or not isinstance(event, Exchange):
            yield [event]
            continue
        before = info.same_as
        if event.ordinal >= FIRST_ORPHAN_ORDINAL:
            info.same_as = share.root_of_orphan(is_early=not info.complete)
        else:
            info.same_as = share.root_of(event.ordinal)
        try:
            yield [event]
        finally:
            info.same_as = before


_Pairs = dict[tuple[int, int], Match]


def _groups(seen: list[FrameSamples]) -> Iterator[tuple[list[FrameSamples], _Pairs]]:
    """Connections between two ends that are one, at most one of each set; matches by places in the list."""
    matches: list[tuple[int, int, int, int, Match]] = []
    ordered = sorted(range(len(seen)), key=lambda number: seen[number].info.start_ns)
    for at, other in combinations(ordered, 2):
        one, two = seen[at], seen[other]
        away_ns = max(0, two.info.start_ns - one.last_ns, one.info.start_ns - two.last_ns)
        if one.info.capture_set == two.info.capture_set or away_ns > CLOCK_NS:
            continue
        if away_ns > NEAR_NS and len(seen) > FEW:
            continue
        match = one.match(two)
        if match is not None and (match.exchanges >= PROOF or away_ns <= NEAR_NS):
            matches.append((-match.exchanges, away_ns, at, other, match))
    group_of = {number: [number] for number in range(len(seen))}
    pairs: _Pairs = {}
    for _, _, at, other, match in sorted(matches):
        pairs[at, other] = match
        pairs[other, at] = Match(match.exchanges, match.first[::-1], match.last[::-1])
        mine, theirs = group_of[at], group_of[other]
        sets = [seen[number].info.capture_set for number in mine + theirs]
        if mine is not theirs and len(set(sets)) == len(sets):
            mine += theirs
            for number in theirs:
                group_of[number] = mine
    for group in {id(group): group for group in group_of.values()}.values():
        if len(group) > 1:
            places = {number: place for place, number in enumerate(group)}
            yield (
                [seen[number] for number in group],
                {(places[a], places[b]): m for (a, b), m in pairs.items() if a in places and b in places},
            )


class _Placed:
    """A copy on the ordinals of the one that counts: by how much its own differ at its beginning and end."""

    def __init__(self, samples: FrameSamples, begin: int, end: int) -> None:
        self.samples = samples
        self.begin = begin
        self.end = end
        self.first = begin
        self.last = samples.last_answered + end


def _shares(
    group: list[FrameSamples], matches: _Pairs, requests: Mapping[str, int]
) -> Iterator[tuple[str, Share]]:
    """What each of a group shares, the one that counts last. `requests` are those of each capture set."""

    def rank(at: int) -> tuple[bool, int, str, int]:
        one = group[at]
        name = one.info.capture_set
        return one.gaps > 0, -requests[name], name, one.info.start_ns

    order = sorted(range(len(group)), key=rank)
    root = group[order[0]]
    placed = {order[0]: _Placed(root, 0, 0)}
    first, last = 0, root.last_answered
    earlier = later = None
    waiting = order[1:]
    while waiting:
        at, known, match = next(
            (at, known, matches[at, known]) for at in waiting for known in placed if (at, known) in matches
        )
        waiting.remove(at)
        at_begin, at_end = match.first[1] - match.first[0], match.last[1] - match.last[0]
        one = placed[at] = _Placed(group[at], at_begin + placed[known].begin, at_end + placed[known].end)
        share = Share(root.info.id, first - one.begin, last - one.end, None, None)
        is_earlier, is_later = one.first < first, one.last > last
        if not is_earlier:
            share = share._replace(first=0, early=root.info.id)
        elif one.first < 0 and earlier is None:
            earlier = one.samples.info.id
        if not is_later:
            share = share._replace(last=one.samples.requests)
        elif later is None:
            later = one.samples.info.id
        yield one.samples.info.id, share._replace(is_whole=not (is_earlier or is_later))
        first, last = min(first, one.first), max(last, one.last)
    last = root.last_answered if later else root.requests
    early = earlier if root.has_orphans else None
    is_whole = early is None and last >= root.requests - 1
    yield root.info.id, Share(None, 0, last, later, early, is_whole)
