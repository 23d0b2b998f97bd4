"""The sides of a NAT that several capture sets of a stream have, known by the SYNs of all sets.

The two sides have different addresses, so that no shard has both. The process that commits batches compares
them.

Rules:
- `engine.nat_sides` decides, and decides again when a file has another SYN with the same sequence number: the
  order in which the sets' files come does not matter.
- A side of the same set needs no mark: its shard has it from who read the file.
- A side takes precedence over what `KnownDuplicateTaps` says of the same connection. A connection that
  duplicates a side duplicates the connection that counts.
- A SYN is forgotten when its set is `KEPT_NS` further, a side when its connection was not seen for so long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kdissect.engine.nat_sides import MAX_SIDES, NatSides
from kdissect.pipeline.streaming.flows.known_duplicate_taps import KEPT_NS, Mark
from kdissect.session.info import connection_id

if TYPE_CHECKING:
    from kdissect.pipeline.streaming.flows.shard import Report

# SYNs of all sets, some 150 bytes each in the checkpoint. The newest ones stay.
MAX_KNOWN_SYNS = 100_000


class _KnownSyn(NamedTuple):
    """A SYN at its place in canonical order, and the batch whose files have it."""

    order_ns: int
    set_name: str
    ref: int
    capture_set: int
    batch: int
    time_ns: int
    flow: bytes
    window: int
    ip_id: int


class _Side(NamedTuple):
    """A connection that is a side of another one: `last_ns` is when the capture set last had packets of it.

    `is_shared`: the other side is in another capture set.
    """

    root: str
    capture_set: int
    last_ns: int
    is_shared: bool


class KnownNatSides:
    """SYNs and sides up to a batch. Picklable."""

    def __init__(self) -> None:
        self._syns: dict[int, list[_KnownSyn]] = {}
        """By sequence number."""
        self._sides: dict[str, _Side] = {}

    def take(
        self, batch: int, reports: Sequence[Report], marked: Mapping[int, Mapping[str, tuple[str, int]]]
    ) -> list[Mark]:
        """Take what the shards report, and return the marks of all capture sets with the batch.

        `marked` are the marks of each capture set before the batch (`SetRecord.marks`).
        """
        taps = [mark for report in reports for mark in report.marks]
        if not (self._syns or any(report.syns for report in reports)):
            return taps
        last_ns = {report.facts.capture_set: report.last_ns or 0 for report in reports}
        found: dict[str, Mark] = {}
        for seq in self._added(batch, reports):
            for mark in self._decided(batch, seq, last_ns):
                found[mark.connection] = mark
        found = self._followers(found, marked) | found
        for report in reports:
            for connection in report.seen & self._sides.keys():
                side = self._sides[connection]
                self._sides[connection] = side._replace(last_ns=last_ns[side.capture_set])
                if side.is_shared and connection not in found:
                    found[connection] = Mark(connection, side.capture_set, side.root, batch, False)
        of_taps = (self._rooted(mark) for mark in taps if mark.connection not in self._sides)
        self._forget(last_ns)
        return [*found.values(), *(mark for mark in of_taps if mark.connection not in found)]

    def _added(self, batch: int, reports: Iterable[Report]) -> set[int]:
        """Add the SYNs of a batch, and return their sequence numbers."""
        numbers = set()
        for report in reports:
            number, name = report.facts.capture_set, report.facts.set_name
            for syn in report.syns:
                known = _KnownSyn(
                    syn.order_ns, name, syn.ref, number, batch, syn.time_ns, syn.flow, syn.window, syn.ip_id
                )
                self._syns.setdefault(syn.seq, []).append(known)
                numbers.add(syn.seq)
        return numbers

    def _decided(self, batch: int, seq: int, last_ns: Mapping[int, int]) -> Iterable[Mark]:
        """Yield the sides that a sequence number's SYNs show, if they are new or have another root."""
        group = self._syns[seq]
        group.sort()
        if len({one.flow for one in group}) == 1:
            return
        sides, begun = NatSides(), set[tuple[str, bytes]]()
        for one in group:
            sides.see(one.set_name, one.flow, seq, one.window, one.ip_id, one.time_ns)
            # A SYN that was sent again begins no connection.
            is_first = (one.set_name, one.flow) not in begun
            begun.add((one.set_name, one.flow))
            root = sides.root(one.set_name, one.flow, seq) if is_first else None
            if root is None:
                continue
            connection = connection_id(one.flow, one.set_name, one.time_ns)
            is_shared = root[1] != one.set_name
            known = self._sides.get(connection)
            if known is None or known.root != root[0]:
                newest_ns = last_ns.get(one.capture_set, one.order_ns)
                self._sides[connection] = _Side(root[0], one.capture_set, newest_ns, is_shared)
                if is_shared or known is not None:
                    yield Mark(connection, one.capture_set, root[0], one.batch, one.batch < batch)

    def _followers(
        self, found: Mapping[str, Mark], marked: Mapping[int, Mapping[str, tuple[str, int]]]
    ) -> dict[str, Mark]:
        """Return marks of connections that were duplicates of a connection that has become a side."""
        if not found:
            return {}
        since = min(one.batch for group in self._syns.values() for one in group)
        return {
            name: Mark(name, number, mark.root, since, True)
            for number, marks in marked.items()
            for name, (root, _) in marks.items()
            if (mark := found.get(root)) is not None and name not in self._sides
        }

    def _rooted(self, mark: Mark) -> Mark:
        """Return a mark with the connection that counts instead of a side."""
        side = None if mark.root is None else self._sides.get(mark.root)
        return mark if side is None else mark._replace(root=side.root)

    def _forget(self, last_ns: Mapping[int, int]) -> None:
        def is_new(capture_set: int, time_ns: int) -> bool:
            return last_ns.get(capture_set, time_ns) - time_ns <= KEPT_NS

        kept = [
            (one, seq) for seq, group in self._syns.items() for one in group
            if is_new(one.capture_set, one.order_ns)
        ]  # fmt: skip
        if len(kept) > MAX_KNOWN_SYNS:
            kept = sorted(kept)[-MAX_KNOWN_SYNS:]
        self._syns = {}
        for one, seq in kept:
            self._syns.setdefault(seq, []).append(one)
        sides = [(name, one) for name, one in self._sides.items() if is_new(one.capture_set, one.last_ns)]
        self._sides = dict(sides[-MAX_SIDES:])
