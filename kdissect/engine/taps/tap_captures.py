"""Captures that `kdissect tap` wrote: whose connections are looked for elsewhere by their bytes.

A tap is recognised by its packets, because tools that copy packets drop the name of the program that wrote
the file: the agent writes IP packets without a link layer, and gives every packet the largest window.
A capture of packets that looks so by chance is read once more, and no connection is marked without proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from kdissect.capture.files import Captures, open_captures
from kdissect.engine.guard import Guard
from kdissect.engine.shards import Shard, ShardAnalyzer, ends_key
from kdissect.model.endpoint import Ports
from kdissect.model.packets.segment import PlainSegment
from kdissect.net.parser import SegmentParser

# Values in the agent's packets (`Pcapng.java`), the largest without an option: RFC 9293 section 3.1.
_WINDOW = 0xFFFF
_LINK_TYPE = 101  # LINKTYPE_RAW, https://www.tcpdump.org/linktypes.html
# Segments that are looked at. Many systems have this first window, but seldom a window of data.
_SEGMENTS = 32
# Pairs of ends that are compared, of some 100 bytes each.
MAX_ENDS = 500_000


def taps_in(sets: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the names of the capture sets that `kdissect tap` wrote, given the paths of each set."""
    return frozenset(name for name, paths in sets.items() if is_tap(open_captures(paths[:1])))


def ends_in(sets: Iterable[Sequence[str]], ports: Ports) -> frozenset[bytes]:
    """Return the ends (`ends_key`) of all connections, given the paths of each capture set."""
    ends: set[bytes] = set()
    for paths in sets:
        _list(paths, ports, ends)
    return frozenset(ends)


def is_tap(captures: Captures) -> bool:
    """Return True if the first packets come from a tap."""
    packets = list(islice(next(iter(captures.batches()), ()), _SEGMENTS))
    link_types = [kind for file in captures.files for kind in file.link_types]
    return are_of_tap(link_types, SegmentParser().parse_batch(packets))


def are_of_tap(link_types: Sequence[int], segments: Sequence[PlainSegment | None]) -> bool:
    """Return True if segments come from a tap, given the link types of their file. Looks at the first."""
    found = [one for one in segments[:_SEGMENTS] if one is not None]
    return bool(found) and set(link_types) == {_LINK_TYPE} and all(segment[4] == _WINDOW for segment in found)


def _list(paths: Sequence[str], ports: Ports, ends: set[bytes]) -> None:
    captures = open_captures(paths)
    analyzer = _Lister(ends, Shard(0, 1), ports)
    guard = Guard(captures.files, analyzer)
    for packets in captures.batches():
        for _ in guard.fed(packets, analyzer):
            pass


class _Lister(ShardAnalyzer):
    """Analyses nothing, and notes all ends that come."""

    def __init__(self, ends: set[bytes], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._ends = ends

    def _takes(self, flow: bytes) -> bool:
        if len(self._ends) < MAX_ENDS:
            self._ends.add(ends_key(flow))
        return False
