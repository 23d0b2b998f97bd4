"""Connections that several capture sets have, found before any set is analysed alone.

Rules:
- A first pass over each set lists its pairs of ends, without looking into a packet: the compiled reader
  passes all by. Where no two sets have the same ends, nothing was captured twice.
- Else tasks that read all sets analyse the connections between ends that several have, as one process does
  (`engine.taps`), and tell which are the same. Each task has a shard of the ends; packets of others are
  passed by before those of the sets are merged.
- Secrets that stand in a capture may open connections of another one: the first pass finds them as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.capture.files import numbers_in_sets
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer
from kdissect.engine.guard import Guard
from kdissect.engine.shards import MAX_OTHERS, Shard, ShardAnalyzer
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.model.digest import blake2b
from kdissect.model.endpoint import Ports
from kdissect.model.packets.packet import FILE_SHIFT, NEVER_NS, PacketBlock
from kdissect.model.packets.segment import PlainSegment, Segment, reverse_flow
from kdissect.pipeline.task_setup import OwnCaptures, Setup

if TYPE_CHECKING:
    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.info import ConnectionInfo

# Ends that are listed of a set, of some 70 bytes each. Past it all may be those of another set.
MAX_LISTED = 1_000_000

Placed = tuple[int, int, PlainSegment, int]
"""Running maximum of time within the file, reference and segment of a packet, its time."""
Marks = Mapping[str, str]
"""For a connection the one of another capture set that is counted instead."""


class Listed(NamedTuple):
    """What the first pass says of a set: its ends as hashes, None for too many; and its secrets."""

    capture_set: int
    ends: frozenset[bytes] | None
    secrets: tuple[bytes, ...]


def ends_hash(flow: bytes) -> bytes:
    """Eight bytes for a pair of ends. Those that are equal by chance are looked at for nothing."""
    return blake2b(min(flow, reverse_flow(flow)), digest_size=8).digest()


class ListEnds:
    """The function of a task of the first pass, which takes numbers of capture sets."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def __call__(self, numbers: Iterable[int]) -> list[Listed]:
        self._setup.begin()
        return [self._listed(number) for number in numbers]

    def _listed(self, number: int) -> Listed:
        captures = OwnCaptures(self._setup.inputs, (number,))
        analyzer = _Lister(Shard(0, 1), self._setup.ports)
        guard = Guard(captures.files, analyzer)
        for packets in captures.batches():
            for _ in guard.fed(packets, analyzer):
                pass
        found = None if len(analyzer.ends) >= MAX_LISTED else frozenset(analyzer.ends)
        secrets = (data for file in captures.own for kind, data in file.secrets if kind == TLS_KEY_LOG)
        return Listed(number, found, tuple(secrets))


class MarkTaps:
    """The function of a task that finds what was captured twice, in a shard of the ends; marks by set.

    `shared` are the ends that several of the sets have; None for all.
    """

    def __init__(self, setup: Setup, capture_sets: frozenset[int], shared: frozenset[bytes] | None) -> None:
        self._setup = setup
        self._capture_sets = capture_sets
        self._shared = shared

    def __call__(self, shard: Shard) -> dict[str, dict[str, str]]:
        self._setup.begin()
        inputs, taps = self._setup.inputs, _Marking()
        names = [inputs.capture_sets[file.capture_set] for file in inputs.files]
        analyzer = OrderedAnalyzer(
            Analyzer(self._setup.ports, names.__getitem__, duplicate_taps=taps),
            numbers_in_sets(names).__getitem__,
        )
        for now_ns, ref, segment, time_ns in merge(*(self._of(one, shard) for one in self._capture_sets)):
            analyzer.feed_segment(segment, ref, time_ns, now_ns)
        return taps.marks

    def _of(self, number: int, shard: Shard) -> Iterator[Placed]:
        """The segments of a set that are looked at, in canonical order."""
        captures = OwnCaptures(self._setup.inputs, (number,))
        analyzer = _OfShared(shard, self._shared, self._setup.ports)
        guard = Guard(captures.files, analyzer)
        latest: dict[int, int] = {}
        for packets in captures.batches():
            # Each file has a running maximum of its own: packets of several are taken one by one.
            for some in (packets,) if isinstance(packets, PacketBlock) else ((packet,) for packet in packets):
                file = some[0][0] >> FILE_SHIFT
                analyzer.latest_ns = latest.get(file, NEVER_NS)
                for _ in guard.fed(some, analyzer):
                    pass
                latest[file] = analyzer.latest_ns
                yield from analyzer.taken
                analyzer.taken.clear()


class KnownTaps(DuplicateTaps):
    """Stands for `DuplicateTaps` where it is known which connections are marked."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks

    def hear(self, capture_set: str) -> None:
        """Nothing is compared."""

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """A connection begins."""
        info.same_as = self._marks.get(info.id)

    def close(self, info: ConnectionInfo) -> None:
        """A connection ends."""


def shared_ends(listed: Iterable[Listed]) -> tuple[frozenset[int], frozenset[bytes] | None]:
    """The sets of which several have the same ends, and these ends (None: all may be)."""
    told = list(listed)
    if any(one.ends is None for one in told):
        return frozenset(one.capture_set for one in told), None
    first: dict[bytes, int] = {}
    shared: set[bytes] = set()
    sets: set[int] = set()
    for one in told:
        for ends in one.ends or ():
            other = first.setdefault(ends, one.capture_set)
            if other != one.capture_set:
                shared.add(ends)
                sets |= {other, one.capture_set}
    return frozenset(sets), frozenset(shared)


class _Lister(ShardAnalyzer):
    """Analyses nothing, and notes all ends that come."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ends: set[bytes] = set()

    def _takes(self, flow: bytes) -> bool:
        if len(self.ends) < MAX_LISTED:
            self.ends.add(ends_hash(flow))
        return False


class _OfShared(ShardAnalyzer):
    """Analyses nothing, and takes the segments of a shard of the ends that several sets have."""

    def __init__(self, shard: Shard, shared: frozenset[bytes] | None, ports: Ports) -> None:
        super().__init__(shard, ports)
        self._shared = shared
        self._known: dict[bytes, bool] = {}
        self.taken: list[Placed] = []

    def _feed_segment(self, segment: PlainSegment, ref: int, time_ns: int) -> None:
        flow = segment[0]
        is_wanted = self._known.get(flow)
        if is_wanted is None:
            if len(self._known) >= MAX_OTHERS:
                self._known.clear()
            is_wanted = self._takes(flow) and (self._shared is None or ends_hash(flow) in self._shared)
            self._known[flow] = is_wanted
        if is_wanted:
            now_ns = time_ns if self.latest_ns is None else self.latest_ns
            self.taken.append((now_ns, ref, segment, time_ns))
        else:
            self._pass_by(flow, ref, time_ns)


class _Marking(DuplicateTaps):
    """Remembers all marks that it set."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, dict[str, str]] = {}

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        super().open(info, tcp, segment)
        if info.same_as is not None:
            self.marks.setdefault(info.capture_set, {})[info.id] = info.same_as
