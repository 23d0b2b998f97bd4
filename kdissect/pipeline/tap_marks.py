"""Connections that several capture sets have, found before any set is analysed alone.

Rules:
- A first pass over each set lists its pairs of ends, without looking into a packet: the compiled reader
  passes all by. Where no two sets have the same ends, nothing was captured twice.
- Else tasks that read all sets analyse the connections between ends that several have, as one process does
  (`engine.taps`), and tell which are the same. Each task has a shard of the ends.
- Secrets that stand in a capture may open connections of another one: the first pass finds them as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.capture.files import ends_of
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.guard import Guard
from kdissect.engine.shards import Shard, ShardAnalyzer
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.model.packets.segment import Segment, reverse_flow
from kdissect.pipeline.task_setup import OwnCaptures, Setup

if TYPE_CHECKING:
    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.info import ConnectionInfo

# Ends that are listed of a set, of some 70 bytes each. Past it all may be those of another set.
MAX_LISTED = 1_000_000

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
        _feed(captures, analyzer)
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
        setup, taps = self._setup, _Marking()
        captures = OwnCaptures(setup.inputs, self._capture_sets)
        files = captures.files
        analyzer = _OfShared(
            shard, setup.ports, lambda index: files[index].capture_set, None, None, None, taps
        )
        analyzer.shared = self._shared
        _feed(captures, analyzer)
        return taps.marks


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
    """Analyses what is between ends that several sets have."""

    shared: frozenset[bytes] | None = None

    def _takes(self, flow: bytes) -> bool:
        return super()._takes(flow) and (self.shared is None or ends_hash(flow) in self.shared)


class _Marking(DuplicateTaps):
    """Remembers all marks that it set."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, dict[str, str]] = {}

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        super().open(info, tcp, segment)
        if info.same_as is not None:
            self.marks.setdefault(info.capture_set, {})[info.id] = info.same_as


def _feed(captures: OwnCaptures, analyzer: Analyzer) -> None:
    """Have an analyzer see all packets; nobody asks for its events."""
    guard = Guard(captures.files, analyzer)
    for packets in captures.batches():
        for _ in guard.fed(packets, analyzer):
            pass
    ends = ends_of(captures.files)
    for _ in guard.closed(analyzer, lambda: analyzer.close_each(ends)):
        pass
