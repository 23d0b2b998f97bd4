"""Connections that several capture sets have, found before any set is analysed separately.

Rules:
- A first pass over each set lists its pairs of ends, without decoding a packet: the native reader skips all
  of them. If no two sets have the same ends, there are no duplicates.
- The first pass also lists SYNs: two ends that begin with an equal SYN may be both sides of a NAT
  (`engine.nat_sides`).
- Else tasks that read all sets analyze the connections between ends that several sets have, as one process
  does (`engine.taps`), and report the equal connections. Each task has a shard of the ends. Packets of other
  shards are skipped before the packets of the sets are merged.
- Connections in a capture of `kdissect tap` have invented sequence numbers. One task reads all sets that have
  its ends, and compares bytes (`engine.taps.copies`).
- Secrets in a capture may open connections of another one: the first pass finds them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.api import Dissection
from kdissect.capture.files import numbers_in_sets
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer
from kdissect.engine.guard import Guard
from kdissect.engine.nat_sides import is_random
from kdissect.engine.shards import MAX_OTHERS, Shard, ShardAnalyzer, ends_key
from kdissect.engine.taps.copies import NO_COPIES, Copies, CopyMarks, CopySearch
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.engine.taps.tap_captures import MAX_ENDS, is_tap
from kdissect.model.digest import blake2b
from kdissect.model.endpoint import Ports
from kdissect.model.packets.packet import FILE_SHIFT, NEVER_NS, PacketBlock
from kdissect.model.packets.segment import PlainSegment, Segment, reverse_flow
from kdissect.pipeline.task_setup import OwnCaptures, Setup
from kdissect.session.detection.known_brokers import Brokers
from kdissect.session.info import Share

if TYPE_CHECKING:
    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.info import ConnectionInfo

# Ends listed of a set, some 70 bytes each. Past the bound, any ends may belong to another set.
MAX_LISTED = 1_000_000

Placed = tuple[int, int, PlainSegment, int]
"""Running maximum of time within the file, reference and segment of a packet, its time."""


class Listed(NamedTuple):
    """The first pass's result for a set: its ends as hashes, None for too many, and its secrets.

    `tapped` are the ends themselves (`ends_key`) of a capture that `kdissect tap` wrote, None for other
    captures. `syns` are sequence numbers of SYNs and the ends of each.
    """

    capture_set: int
    ends: frozenset[bytes] | None
    secrets: tuple[bytes, ...]
    tapped: frozenset[bytes] | None = None
    syns: frozenset[tuple[int, bytes]] = frozenset()


class Shared(NamedTuple):
    """Traffic that several sets have in common: the sets, and the ends as hashes (None: all may be).

    `translated` are ends that begin with a SYN that other ends, in one set or several, begin with too: they
    may be the other side of a NAT (`engine.nat_sides`), and no shard may have one without the other.
    """

    sets: frozenset[int]
    ends: frozenset[bytes] | None
    translated: frozenset[bytes]


def ends_hash(flow: bytes) -> bytes:
    """Return eight bytes for a pair of ends. Ends that are equal by chance only cost time."""
    return blake2b(min(flow, reverse_flow(flow)), digest_size=8).digest()


class ListEnds:
    """The function of a task in the first pass. It takes numbers of capture sets."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def __call__(self, numbers: Iterable[int]) -> list[Listed]:
        self._setup.begin()
        return [self._listed(number) for number in numbers]

    def _listed(self, number: int) -> Listed:
        is_of_tap = is_tap(OwnCaptures(self._setup.inputs, (number,)))
        captures = OwnCaptures(self._setup.inputs, (number,))
        analyzer = _Lister(is_of_tap, Shard(0, 1), self._setup.ports)
        guard = Guard(captures.files, analyzer)
        for packets in captures.batches():
            for _ in guard.fed(packets, analyzer):
                pass
        found = None if len(analyzer.ends) >= MAX_LISTED else frozenset(analyzer.ends)
        secrets = (data for file in captures.own for kind, data in file.secrets if kind == TLS_KEY_LOG)
        tapped = frozenset(analyzer.keys) if is_of_tap else None
        return Listed(number, found, tuple(secrets), tapped, frozenset(analyzer.syns))


class FindCopies:
    """The function of a task that compares bytes of the connections between the ends of taps (`ends`)."""

    def __init__(self, setup: Setup, taps: frozenset[int], ends: frozenset[bytes]) -> None:
        self._setup = setup
        self._taps = taps
        self._ends = ends

    def __call__(self, capture_sets: frozenset[int]) -> Copies:
        setup = self._setup
        setup.begin()
        dissection = Dissection(
            OwnCaptures(setup.inputs, capture_sets), setup.ports.brokers, None, limits=setup.limits,
            only_ports=setup.ports.only, shard=Shard(0, 1, self._ends), brokers=Brokers(),
            taps=DuplicateTaps(),
        )  # fmt: skip
        dissection.key_logs.files = list(setup.key_logs)
        search = CopySearch({setup.inputs.capture_sets[number] for number in self._taps})
        for event in dissection.events():
            search.add(event)
        return search.copies()


class MarkTaps:
    """The function of a task that finds duplicates in a shard of the ends. It returns marks by set.

    `copies` are the copies that taps have.
    """

    def __init__(self, setup: Setup, shared: Shared, copies: Copies = NO_COPIES) -> None:
        self._setup = setup
        self._shared = shared
        self._copies = copies

    def __call__(self, shard: Shard) -> dict[str, Copies]:
        self._setup.begin()
        inputs, taps = self._setup.inputs, _Marking(lambda: self._copies)
        names = [inputs.capture_sets[file.capture_set] for file in inputs.files]
        analyzer = OrderedAnalyzer(
            Analyzer(self._setup.ports, names.__getitem__, duplicate_taps=taps),
            numbers_in_sets(names).__getitem__,
        )
        for now_ns, ref, segment, time_ns in merge(*(self._of(one, shard) for one in self._shared.sets)):
            analyzer.feed_segment(segment, ref, time_ns, now_ns)
        return taps.marks

    def _of(self, number: int, shard: Shard) -> Iterator[Placed]:
        """Yield the analysed segments of a set, in canonical order."""
        captures = OwnCaptures(self._setup.inputs, (number,))
        analyzer = _OfShared(shard, self._shared, self._setup.ports)
        guard = Guard(captures.files, analyzer)
        latest: dict[int, int] = {}
        for packets in captures.batches():
            # Each file has a running maximum of its own, so packets of several files are read one by one.
            for some in (packets,) if isinstance(packets, PacketBlock) else ((packet,) for packet in packets):
                file = some[0][0] >> FILE_SHIFT
                analyzer.latest_ns = latest.get(file, NEVER_NS)
                for _ in guard.fed(some, analyzer):
                    pass
                latest[file] = analyzer.latest_ns
                yield from analyzer.taken
                analyzer.taken.clear()


class KnownTaps(CopyMarks):
    """Replacement of `CopyMarks` with known marks."""

    def __init__(self, marks: Copies) -> None:
        super().__init__(lambda: marks)
        self._marks = marks

    def hear(self, capture_set: str) -> None:
        """Ignore the set: no comparison is necessary."""

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        """Mark a connection that begins."""
        self._marks.mark(info)

    def close(self, info: ConnectionInfo) -> None:
        """Ignore the end of a connection."""


def shared_ends(listed: Iterable[Listed]) -> Shared:
    """Return the ends that several sets have: equal ends, or SYNs that a NAT may have translated."""
    told = list(listed)
    of_syn: dict[int, set[bytes]] = {}
    for one in told:
        for seq, ends in one.syns:
            of_syn.setdefault(seq, set()).add(ends)
    translated = frozenset(ends for several in of_syn.values() if len(several) > 1 for ends in several)
    if any(one.ends is None for one in told):
        return Shared(frozenset(one.capture_set for one in told), None, translated)
    sets_of: dict[bytes, set[int]] = {}
    for one in told:
        for ends in one.ends or ():
            sets_of.setdefault(ends, set()).add(one.capture_set)
    shared: set[bytes] = set()
    sets: set[int] = set()
    alike = [*({ends} for ends in sets_of), *(several for several in of_syn.values() if len(several) > 1)]
    for several in alike:
        found = set().union(*(sets_of.get(ends, ()) for ends in several))
        if len(found) > 1:
            shared |= several
            sets |= found
    return Shared(frozenset(sets), frozenset(shared), translated & shared)


def copies_to_find(listed: Iterable[Listed]) -> tuple[frozenset[int], frozenset[int], frozenset[bytes]]:
    """Return the sets whose connections a tap may have as well, the taps among them, and the ends of all
    taps.
    """
    told = list(listed)
    taps = frozenset(one.capture_set for one in told if one.tapped is not None)
    ends = frozenset(key for one in told for key in one.tapped or ())
    hashes = frozenset(map(ends_hash, ends))
    sets = frozenset(one.capture_set for one in told if one.ends is None or not hashes.isdisjoint(one.ends))
    return sets, taps, ends


class _Lister(ShardAnalyzer):
    """Analyzer that only notes all ends. `keys` are the ends of a tap, which are few."""

    def __init__(self, is_of_tap: bool, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._is_of_tap = is_of_tap
        self.ends: set[bytes] = set()
        self.keys: set[bytes] = set()
        self.syns: set[tuple[int, bytes]] = set()

    def _note_syn(self, flow: bytes, seq: int, window: int, ip_id: int, time_ns: int) -> None:
        if is_random(seq) and len(self.syns) < MAX_LISTED:
            self.syns.add((seq, ends_hash(flow)))

    def _takes(self, flow: bytes) -> bool:
        if len(self.ends) < MAX_LISTED:
            self.ends.add(ends_hash(flow))
        if self._is_of_tap and len(self.keys) < MAX_ENDS:
            self.keys.add(ends_key(flow))
        return False


class _OfShared(ShardAnalyzer):
    """Analyzer that only takes the segments in a shard of the ends that several sets have.

    All shards have the ends that a NAT may have translated.
    """

    def __init__(self, shard: Shard, shared: Shared, ports: Ports) -> None:
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
            ends, (_, shared, translated) = ends_hash(flow), self._shared
            is_wanted = ends in translated or (self._takes(flow) and (shared is None or ends in shared))
            self._known[flow] = is_wanted
        if is_wanted:
            now_ns = time_ns if self.latest_ns is None else self.latest_ns
            self.taken.append((now_ns, ref, segment, time_ns))
        else:
            self._pass_by(flow, ref, time_ns)


class _Marking(CopyMarks):
    """Copy marks that also remember each mark set."""

    def __init__(self, find: Callable[[], Copies]) -> None:
        super().__init__(find)
        self.marks: dict[str, Copies] = {}

    def open(self, info: ConnectionInfo, tcp: TcpConnection, segment: Segment) -> None:
        super().open(info, tcp, segment)
        share = info.share
        if share is None and info.same_as is not None:
            share = Share(info.same_as, (), None, True)
        if share is None and info.probably_same_as is None:
            return
        marks = self.marks.setdefault(info.capture_set, Copies({}, {}, {}))
        if share is not None:
            marks.shares[info.id] = share
        if info.probably_same_as is not None:
            marks.probable[info.id] = info.probably_same_as
