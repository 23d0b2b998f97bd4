"""Connections that several capture sets have and that sequence numbers do not prove, as with `kdissect tap`.

The agent in a JVM sees calls, not packets: it invents sequence numbers, and what it records of TLS is
plaintext. So the bytes of exchanges are compared (`frame_samples`), before the captures are analysed.

Rules:
- Two connections are one if they have the same ends, times no further apart than clocks are wrong, and
  exchanges with the same bytes, and if no exchange contradicts that. A few equal exchanges prove it only if
  both existed at one time: a program that starts again sends them again.
- A connection that has only ApiVersions or SaslHandshake is a copy if another connection proves that both
  sets captured the network of its two hosts: one network has no two connections with equal ends at one time.
- Packets of two sets that have the same sequence numbers are copies of each other. If only one of them has
  bytes that are equal to a tap's (the other is cut, or has the wrong time), both are copies of the tap.
- An unreadable TLS connection in packets next to a tap has no bytes to compare. It is marked as probably the
  connection of the tap that has the same ends at the same time, if its size does not contradict that.
- The copy without gaps counts. Among several, the copy in the capture set with the most requests counts,
  because a set knows what its connections report about a group or a topic. Exchanges that only another copy
  has, because it began earlier or ended later, count there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.engine.taps.frame_samples import FrameSamples, Match
from kdissect.engine.taps.tap_index import CLOCK_NS, FEW
from kdissect.model.packets.stream import CloseKind
from kdissect.session.events import ConnectionClosed, Event, Events
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind, Share

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdissect.model.endpoint import Endpoint
    from kdissect.model.packets.segment import Segment
    from kdissect.net.streams.tcp import TcpConnection

# Samples of all connections together, some 300 bytes each, and of one. If there are too many, each connection
# drops half of its samples, so that copies of later connections are recognized, too.
MAX_SAMPLES = 400_000
MAX_OF_ONE = 1024
# Minimum number of samples: `PROOF` equal ones need some samples that two captures have in common.
MIN_OF_ONE = 16
# Minimum number of equal exchanges. Every start of a program sends fewer: ApiVersions, SASL, Metadata,
# FindCoordinator.
PROOF = 8
# Synchronized clocks differ by less. Connections with few equal exchanges must overlap within it.
NEAR_NS = 1_000_000_000

Ends = tuple["Endpoint", "Endpoint"]


class Copies(NamedTuple):
    """The common parts of each connection and its copy, the connection of a tap that an unread one
    probably is, and the capture sets of the connections that are read in their place.
    """

    shares: dict[str, Share]
    probable: dict[str, str]
    sets: dict[str, str]

    def update(self, more: Copies) -> None:
        """Add the copies of other connections."""
        self.shares.update(more.shares)
        self.probable.update(more.probable)
        self.sets.update(more.sets)

    def mark(self, info: ConnectionInfo) -> bool:
        """Set what a connection that begins shares. Return False if it has no proven copy."""
        share = self.shares.get(info.id)
        read = info.probably_same_as = self.probable.get(info.id)
        if share is not None:
            read = info.same_as = share.inside
            info.share = None if share.is_whole else share
        if read is not None:
            info.read_from = self.sets.get(read)
        return share is not None


NO_COPIES = Copies({}, {}, {})


class CopySearch:
    """Takes all events of connections that may have copies, and returns the copies.

    `taps` are the capture sets that `kdissect tap` wrote.
    """

    def __init__(self, taps: Set[str]) -> None:
        self._taps = taps
        self._open: dict[str, FrameSamples] = {}
        self._over: dict[Ends, list[FrameSamples]] = {}
        self._unread: list[ConnectionInfo] = []
        self._samples = 0
        self._of_one = MAX_OF_ONE

    def add(self, event: Event) -> None:
        """Take the next event."""
        info = event.connection
        if isinstance(event, Exchange):
            samples = self._open.get(info.id)
            if samples is None:
                samples = self._open[info.id] = FrameSamples(info)
            while self._samples >= MAX_SAMPLES and self._of_one > MIN_OF_ONE:
                self._thin()
            before = len(samples)
            left = MAX_SAMPLES - self._samples
            samples.add(event, min(self._of_one, before + left))
            self._samples += len(samples) - before
        elif isinstance(event, ConnectionClosed):
            samples = self._open.pop(info.id, None) or FrameSamples(info)
            samples.last_ns = max(info.end_ns, info.start_ns)
            samples.gaps = 0 if info.tcp is None else info.tcp.gaps
            if info.kind is ConnectionKind.KAFKA:
                ends = (info.client, info.broker)
                self._over.setdefault(ends, []).append(samples)
            elif info.kind is ConnectionKind.TLS and info.capture_set not in self._taps:
                self._unread.append(info)

    def _thin(self) -> None:
        """Halve the number of samples for each connection."""
        self._of_one //= 2
        known = [*self._open.values(), *chain.from_iterable(self._over.values())]
        for samples in known:
            samples.thin(self._of_one)
        self._samples = sum(map(len, known))

    def copies(self) -> Copies:
        """Return the result after all events."""
        requests = Counter[str]()
        candidates: list[tuple[list[FrameSamples], list[_Candidate]]] = []
        networks: set[_Network] = set()
        for seen in self._over.values():
            for one in seen:
                requests[one.info.capture_set] += one.requests
            if len({one.info.capture_set for one in seen}) > 1:
                candidates.append((seen, list(_candidates(seen))))
                networks.update(one.network for one in candidates[-1][1] if one.match.exchanges)
        shares: dict[str, Share] = {}
        for seen, found in candidates:
            proven = [one for one in found if one.match.exchanges or one.network in networks]
            for group, matches in _groups(seen, proven):
                shares.update(_shares(group, matches, requests))
        shares.update(self._by_sequence(shares))
        probable = dict(self._probable(shares))
        read = {share.inside for share in shares.values()}.union(probable.values())
        sets = {
            one.info.id: one.info.capture_set
            for seen in self._over.values()
            for one in seen
            if one.info.id in read
        }
        return Copies(shares, probable, sets)

    def _by_sequence(self, shares: Mapping[str, Share]) -> Iterator[tuple[str, Share]]:
        """Yield the shares of connections without equal bytes whose sequence numbers match a sharing
        connection.
        """
        known = list(chain.from_iterable(self._over.values()))
        found = {_stream(one.info): one.info.id for one in known if one.info.id in shares}
        for one in known:
            other = found.get(_stream(one.info))
            if other is not None and one.info.id not in shares:
                root = shares[other].inside or other
                yield one.info.id, Share(root, (), root, is_whole=True)

    def _probable(self, shares: Mapping[str, Share]) -> Iterator[tuple[str, str]]:
        """Yield pairs of an unread connection and the one of a tap that counts."""
        for info in self._unread:
            either_way = (info.client, info.broker), (info.broker, info.client)
            for one in (one for ends in either_way for one in self._over.get(ends, ())):
                if one.info.capture_set in self._taps and _may_carry(info, one):
                    share = shares.get(one.info.id)
                    yield info.id, one.info.id if share is None or share.inside is None else share.inside
                    break


class CopyMarks(DuplicateTaps):
    """`DuplicateTaps` that asks `find` first, once, which connections share what."""

    def __init__(self, find: Callable[[], Copies]) -> None:
        super().__init__()
        self._find: Callable[[], Copies] | None = find
        self._copies = NO_COPIES

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """Begin a connection with a segment."""
        if self._find is not None:
            find, self._find = self._find, None
            self._copies = find()
        if not self._copies.mark(info):
            super().open(info, tcp, segment)

    def counted(self, fed: Iterator[Events]) -> Iterator[Events]:
        """Yield the events, with the connection counted around each event that counts."""
        for events in fed:
            if isinstance(events, list):
                yield from _each_counted(events)
            else:
                yield events  # a block has no connection that shares only some exchanges

    def counted_ends(self, closing: Iterator[list[Event]]) -> Iterator[list[Event]]:
        """Yield the events of the end in the same manner."""
        for events in closing:
            yield from _each_counted(events)


def _each_counted(events: list[Event]) -> Iterator[list[Event]]:
    """Yield the same events.

    If a connection shares only some exchanges, its `same_as` is that of the event.
    """
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


def _stream(info: ConnectionInfo) -> str:
    """Return the first of all connections with its sequence numbers (`DuplicateTaps`)."""
    return info.same_as or info.id


_Pairs = dict[tuple[int, int], Match]
_Network = tuple[frozenset[str], str, str]
"""Two capture sets, a client's host and a broker's host."""


class _Candidate(NamedTuple):
    """Two connections, by their places in a list, that may be one; `away_ns` is the time between them."""

    match: Match
    away_ns: int
    at: int
    other: int
    network: _Network

    @property
    def order(self) -> tuple[int, int, int, int]:
        """The best come first."""
        return -self.match.exchanges, self.away_ns, self.at, self.other


def _candidates(seen: list[FrameSamples]) -> Iterator[_Candidate]:
    """Yield pairs of connections between two ends that have equal exchanges and no other."""
    most_ns = NEAR_NS if len(seen) > FEW else CLOCK_NS
    for at, other, away_ns in _near(seen, most_ns):
        one, two = seen[at], seen[other]
        if one.info.capture_set == two.info.capture_set:
            continue
        match = one.match(two)
        if match is not None and (match.exchanges >= PROOF or away_ns <= NEAR_NS):
            sets = frozenset((one.info.capture_set, two.info.capture_set))
            network = sets, str(one.info.client.host), str(one.info.broker.host)
            yield _Candidate(match, away_ns, at, other, network)


def _near(seen: list[FrameSamples], most_ns: int) -> Iterator[tuple[int, int, int]]:
    """Yield places of two connections that are no more than `most_ns` apart, and the time between them."""
    ordered = sorted(range(len(seen)), key=lambda number: seen[number].info.start_ns)
    before: list[int] = []
    for other in ordered:
        start_ns = seen[other].info.start_ns
        before = [at for at in before if start_ns - seen[at].last_ns <= most_ns]
        for at in before:
            yield at, other, max(0, start_ns - seen[at].last_ns)
        before.append(other)


def _groups(
    seen: list[FrameSamples], proven: list[_Candidate]
) -> Iterator[tuple[list[FrameSamples], _Pairs]]:
    """Yield connections between two ends that are one connection, at most one in each set, and matches by
    places in the list.
    """
    group_of = {number: [number] for number in range(len(seen))}
    pairs: _Pairs = {}
    for match, _, at, other, _ in sorted(proven, key=attrgetter("order")):
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


def _may_carry(tls: ConnectionInfo, tapped: FrameSamples) -> bool:
    """Return whether an unread connection over TLS may be what carries the bytes of a tapped one."""
    tap = tapped.info
    if max(tls.start_ns - tapped.last_ns, tap.start_ns - tls.end_ns) > NEAR_NS:
        return False
    is_whole = tls.close is not None and tls.close.how is CloseKind.FIN and not tls.middle_start
    if tls.tcp is None or tap.tcp is None or tls.tcp.gaps or not is_whole:
        return True  # the tap may have bytes whose packets are missing
    # A record is longer than its plaintext: RFC 8446 section 5.2, RFC 5246 section 6.2.3.
    sizes = (tls.tcp.client_bytes, tls.tcp.broker_bytes)
    if tls.client != tap.client:
        sizes = sizes[::-1]
    return sizes[0] > tap.tcp.client_bytes and sizes[1] > tap.tcp.broker_bytes


class _Placed:
    """A copy on the ordinals of the one that counts: by how much its own differ at its beginning and end.

    `first` is its first request, `answered` its last request with a response, `last` its last request.
    """

    def __init__(self, samples: FrameSamples, begin: int, end: int) -> None:
        self.samples = samples
        self.id = samples.info.id
        self.begin = begin
        self.end = end
        self.first = begin
        self.answered = samples.last_answered + end
        self.last = samples.requests - 1 + end


def _shares(
    group: list[FrameSamples], matches: _Pairs, requests: Mapping[str, int]
) -> Iterator[tuple[str, Share]]:
    """Yield the share of each connection in a group. `requests` counts each capture set's requests."""

    def rank(at: int) -> tuple[bool, int, str, int]:
        one = group[at]
        name = one.info.capture_set
        return one.gaps > 0, -requests[name], name, one.info.start_ns

    order = sorted(range(len(group)), key=rank)
    placed = {order[0]: _Placed(group[order[0]], 0, 0)}
    waiting = order[1:]
    while waiting:
        at, known, match = next(
            (at, known, matches[at, known]) for at in waiting for known in placed if (at, known) in matches
        )
        waiting.remove(at)
        at_begin, at_end = match.first[1] - match.first[0], match.last[1] - match.last[0]
        placed[at] = _Placed(group[at], at_begin + placed[known].begin, at_end + placed[known].end)
    yield from _counted_by(list(placed.values()))


def _counted_by(copies: list[_Placed]) -> Iterator[tuple[str, Share]]:
    """Yield the share of each copy.

    The first one counts. Later ones count the exchanges that it and earlier ones lack.
    """
    root = copies[0]
    heads, tails = [root], [root]
    for one in copies[1:]:
        if one.first < heads[-1].first:
            heads.append(one)
        if one.answered > tails[-1].answered:
            tails.append(one)
    # A response without a request belongs to the copy that began first: others may have its request.
    earliest = min(copies, key=lambda one: (one.first, not one.samples.has_orphans))
    reach = tails[-1].last
    for one in copies:
        spans = [
            (before.first - 1 - one.begin, head.id)
            for head, before in reversed(list(zip(heads[1:], heads, strict=False)))
        ]
        spans += [(tail.answered - one.end, tail.id) for tail in tails]
        spans.append((reach - one.end, tails[-1].id))
        if one.last > reach:  # it waits for a response to a request that no other copy has
            spans.append((one.samples.requests, one.id))
            reach = one.last
        yield one.id, _share(one, root, earliest, spans)


def _share(one: _Placed, root: _Placed, earliest: _Placed, spans: list[tuple[int, str]]) -> Share:
    """Return the share of one copy; `spans` say which connection counts up to each of its ordinals."""
    inside = None if one is root else root.id
    found: list[tuple[int, str | None]] = []
    reached = -1
    for last, owner in spans:
        if last > reached and reached < one.samples.requests - 1:
            reached = last
            other = None if owner == one.id else owner
            if found and found[-1][1] == other:
                found.pop()
            found.append((last, other))
    early = None if one is earliest else earliest.id
    is_early_apart = one.samples.has_orphans and early != inside
    is_whole = not is_early_apart and all(owner == inside for _, owner in found)
    return Share(inside, tuple(found), early, is_whole)
