"""Open flows of a shard without new packets: their results stay in place, in the checkpoint and in the
tables.

Rules:
- A flow settles with the first batch that has no packets of it. It becomes active when it has packets again
  or its time is up. Only its leaf and group are written again.
- A leaf has the reports of some flows to their capture set. A group has the rows of its leaves, which are one
  part of the tables, and a digest of the reports. Files are never changed: a batch may be repeated.
- A shard reads with each batch the names of leaves, when each is due, and eight bytes a flow.
"""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import NamedTuple
from zlib import crc32

from kdissect.pipeline.streaming.flows.ends_digest import EndsDigest, digest_of, merged
from kdissect.pipeline.streaming.flows.open_flows import FlowBatches, OpenFlows, Told, joined, rows_of

# If a flow speaks again, all flows of its leaf are judged again, 0.1 ms each, and the rows of its group are
# written, some microseconds each.
LEAF_FLOWS = 128
GROUP_FLOWS = 4096
# Leaves beyond the number that the flows need, above which leaves are joined.
_SPARE_LEAVES = 16
_LEAF_BITS = 12
_PLACE = (1 << 32) - 1


class Leaf(NamedTuple):
    """Some flows: the file of their reports, and its digest. The first of the flows is due at `due_ns`.
    `bytes` is the size of their state.
    """

    path: str
    digest: str
    flows: int
    due_ns: int
    bytes: int


class Group(NamedTuple):
    """Leaves by number, the file of their rows, and the digest of all."""

    leaves: dict[int, Leaf]
    rows: str
    digest: str

    @property
    def flows(self) -> int:
        """How many flows it has."""
        return sum(leaf.flows for leaf in self.leaves.values())

    @property
    def told(self) -> tuple[str, ...]:
        """The files with its flows' reports."""
        return tuple(leaf.path for leaf in self.leaves.values())

    @property
    def paths(self) -> list[str]:
        """All files that it names."""
        leaves = [path for leaf in self.leaves.values() for path in (leaf.path, leaf.digest)]
        return [*leaves, self.rows, self.digest]


class Due(NamedTuple):
    """The time at which a flow must be processed, and the bytes of its state."""

    ns: int
    bytes: int


LeafFlows = dict[bytes, tuple[Due, Told]]


class Index(NamedTuple):
    """Groups by number; `places` says for each flow in which leaf it may be: 32 bits of its key, the number
    of the group, that of the leaf, in order.
    """

    groups: dict[int, Group] = {}  # noqa: RUF012  replaced, never changed
    places: bytes = b""


class Files(NamedTuple):
    """Functions that read and write files of the checkpoint. `name` returns a new path."""

    read: Callable[[str], bytes]
    write: Callable[[str, bytes], None]
    name: Callable[[], str]


class _Changing:
    """A group in a batch that changes it: its leaves, with the changed ones as flows. `before` are its leaves
    before the batch.
    """

    def __init__(self, before: dict[int, Leaf], batches: FlowBatches) -> None:
        self.before = before
        self.leaves: dict[int, Leaf | LeafFlows] = dict(before)
        self.batches = batches

    @property
    def flows(self) -> int:
        """How many flows it has."""
        return sum(leaf.flows if isinstance(leaf, Leaf) else len(leaf) for leaf in self.leaves.values())

    def add(self, flows: LeafFlows) -> None:
        """Add flows as leaves of their own."""
        numbers = (number for number in count() if number not in self.leaves)
        items = iter(flows.items())
        while leaf := dict(islice(items, LEAF_FLOWS)):
            self.leaves[next(numbers)] = leaf

    def has_spare(self) -> bool:
        """Return whether it has many more leaves than its flows need."""
        return len(self.leaves) > self.flows // LEAF_FLOWS + _SPARE_LEAVES


class SettledFlows:
    """The settled flows of a shard in one batch. `close` returns the index for the next one."""

    def __init__(self, index: Index, files: Files) -> None:
        self._groups = dict(index.groups)
        self._places = array("Q", index.places)
        self._files = files
        self._changing: dict[int, _Changing] = {}

    def __contains__(self, key: bytes) -> bool:
        return any(self._leaf_of(number, at, key) is not None for number, at in self._leaves_of(key))

    def due(self, until_ns: int) -> list[bytes]:
        """Return flows that must be processed before a time."""
        found = []
        for group in self._groups.values():
            for leaf in group.leaves.values():
                if leaf.due_ns < until_ns:
                    held = self._read(leaf)
                    found += [key for key, (due, _) in held.items() if due.ns < until_ns]
        return found

    def take_out(self, keys: Iterable[bytes]) -> dict[bytes, Due]:
        """Take out the flows that are here."""
        found: dict[bytes, Due] = {}
        gone: dict[int, set[bytes]] = {}
        for key in keys:
            for number, at in self._leaves_of(key):
                leaf = self._leaf_of(number, at, key)
                if leaf is not None:
                    self._change(number).leaves[at] = leaf
                    found[key], _ = leaf.pop(key)
                    gone.setdefault(number, set()).add(key)
        for number, flows in gone.items():
            changing = self._changing[number]
            changing.batches = rows_of(changing.batches, flows, others=True)
        return found

    def add(self, flows: OpenFlows, dues: Mapping[bytes, Due]) -> None:
        """Add flows with the time at which each is due."""
        keys = iter(sorted(flows.told))
        while True:
            number, room = self._roomiest()
            some = list(islice(keys, room))
            if not some:
                return
            changing = self._change(number)
            held = flows.only(some)
            leaf: LeafFlows = {key: (dues[key], held.told[key]) for key in some}
            changing.add(leaf)
            changing.batches = joined([*changing.batches, *held.batches])

    def close(self) -> tuple[Index, dict[int, FlowBatches]]:
        """Write the changes. Return the index, and the rows of each group that changed."""
        moved: list[int] = []
        left: set[int] = set()
        for number, changing in self._changing.items():
            self._join_leaves(changing)
            for at in changing.before:
                if changing.leaves.get(at) is not changing.before[at]:
                    left.add(number << _LEAF_BITS | at)
            for at, leaf in changing.leaves.items():
                if isinstance(leaf, dict):
                    moved += [_place(key, number, at) for key in leaf]
            if changing.flows:
                self._groups[number] = self._written(changing)
            else:
                self._groups.pop(number, None)
        if self._changing:
            kept = [one for one in self._places if one & _PLACE not in left]
            self._places = array("Q", sorted([*kept, *moved]))
        rows = {number: changing.batches for number, changing in self._changing.items()}
        return Index(self._groups, self._places.tobytes()), rows

    def _join_leaves(self, changing: _Changing) -> None:
        """Have no more leaves than the flows need, if they are many more."""
        changing.leaves = {at: leaf for at, leaf in changing.leaves.items() if leaf}
        if changing.has_spare():
            whole: LeafFlows = {}
            for leaf in changing.leaves.values():
                whole |= self._read(leaf) if isinstance(leaf, Leaf) else leaf
            changing.leaves = {}
            changing.add(whole)

    def _written(self, changing: _Changing) -> Group:
        digests, leaves = [], {}
        for at, leaf in changing.leaves.items():
            if isinstance(leaf, Leaf):
                digests.append(digest_in(self._files.read(leaf.digest)))
                leaves[at] = leaf
                continue
            digest = digest_of(told for _, told in leaf.values())
            dues = [due for due, _ in leaf.values()]
            first_ns, size = min(due.ns for due in dues), sum(due.bytes for due in dues)
            leaves[at] = Leaf(self._kept(leaf), self._kept(tuple(digest)), len(leaf), first_ns, size)
            digests.append(digest)
        return Group(leaves, self._kept(changing.batches), self._kept(tuple(merged(digests))))

    def _kept(self, held: object) -> str:
        path = self._files.name()
        self._files.write(path, pickle.dumps(held))
        return path

    def _read(self, leaf: Leaf) -> LeafFlows:
        found: LeafFlows = pickle.loads(self._files.read(leaf.path))
        return found

    def _change(self, number: int) -> _Changing:
        found = self._changing.get(number)
        if found is None:
            group = self._groups.get(number)
            batches = [] if group is None else pickle.loads(self._files.read(group.rows))
            found = self._changing[number] = _Changing(group.leaves if group else {}, batches)
        return found

    def _roomiest(self) -> tuple[int, int]:
        """Return a group and how many more flows it takes."""
        sizes = {number: group.flows for number, group in self._groups.items()}
        sizes |= {number: changing.flows for number, changing in self._changing.items()}
        number = min(sizes, key=lambda one: (sizes[one], one), default=0)
        if sizes.get(number, GROUP_FLOWS) >= GROUP_FLOWS:
            number = max(sizes, default=0) + 1
        return number, GROUP_FLOWS - sizes.get(number, 0)

    def _leaves_of(self, key: bytes) -> Iterator[tuple[int, int]]:
        """Yield the group and leaf in which a flow may be."""
        first = crc32(key) << 32
        at = bisect_left(self._places, first)
        while at < len(self._places) and self._places[at] >> 32 == first >> 32:
            place = self._places[at] & _PLACE
            yield place >> _LEAF_BITS, place & (1 << _LEAF_BITS) - 1
            at += 1

    def _leaf_of(self, number: int, at: int, key: bytes) -> LeafFlows | None:
        """Return the leaf, or None if it does not have the flow."""
        changing = self._changing.get(number)
        leaf = self._groups[number].leaves[at] if changing is None else changing.leaves[at]
        flows = self._read(leaf) if isinstance(leaf, Leaf) else leaf
        return flows if key in flows else None


def _place(key: bytes, number: int, at: int) -> int:
    return crc32(key) << 32 | number << _LEAF_BITS | at


def digest_in(data: bytes) -> EndsDigest:
    """Read the digest of a group from its file."""
    return EndsDigest(*pickle.loads(data))


def told_in(data: bytes) -> list[Told]:
    """Read the reports of a leaf's flows from its file."""
    leaf: LeafFlows = pickle.loads(data)
    return [told for _, told in leaf.values()]
