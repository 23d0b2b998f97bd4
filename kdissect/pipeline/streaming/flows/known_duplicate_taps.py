"""Connections that several capture sets have in common, in state by flow that all sets share.

Rules:
- An entry for each flow lists what sets saw of its connections. Each time a set saw more of a connection, the
  rules of `engine.taps` decide again which connections count: the order in which the sets' files come does
  not matter.
- A connection that was reported before and changes is reported again as changed, with the batch that first
  reported it.
- A connection that is over is forgotten when its set is `KEPT_NS` further: no other set can have it later, as
  long as its files come no later than that.
- Sightings by looking ahead, in segments that wait, hold until the flow goes on.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import NamedTuple

from kdissect.engine.taps.tap_index import CLOCK_NS
from kdissect.engine.taps.tap_matches import Sighting, roots_of
from kdissect.net.streams.sequence import MASK
from kdissect.pipeline.streaming.flows.flow_store import NOTHING, Store, taps_key

KEPT_NS = CLOCK_NS
# An open connection is written again when its last packet is this much later: readers of the entry use its
# time, too.
_STALE_NS = 10 * 60 * 1_000_000_000
# Bytes a stream may go on before it is written again: a quarter of what a match may be off.
_MOVED = 1 << 26


class Mark(NamedTuple):
    """Mark of a connection. `root` is the connection that counts instead of this one, None if this one does.

    `since` is the batch whose rows have the connection first. `is_changed`: they had another mark.
    """

    connection: str
    capture_set: int
    root: str | None
    since: int
    is_changed: bool


class _Known(NamedTuple):
    sighting: Sighting
    capture_set: int
    since: int
    root: str | None
    is_certain: bool


class KnownDuplicateTaps:
    """Duplicates of one shard in one batch. `marks` has, by connection, all marked connections that were
    seen, and all changed marks.
    """

    def __init__(self, store: Store, batch: int) -> None:
        self._store = store
        self._batch = batch
        self.marks: dict[str, Mark] = {}

    def see(
        self, key: bytes, capture_set: int, sightings: Sequence[Sighting], until_ns: int, is_certain: bool
    ) -> int | None:
        """Take the sightings of a set that is done with all packets before `until_ns`.

        Returns the time for the next call about the set, to forget connections that are over, or None.
        """
        before = self._read(key)
        known = {one.sighting.connection: one for one in before}
        told = {one.connection for one in sightings}
        kept = [one for one in before if self._stays(one, capture_set, told, until_ns, is_certain)]
        kept += [self._noted(one, capture_set, known.get(one.connection), is_certain) for one in sightings]
        after = self._marked(kept, known, told)
        self._write(key, before, after)
        ends = [
            one.sighting.last_ns + KEPT_NS
            for one in after
            if one.capture_set == capture_set and not one.sighting.is_open
        ]
        return max(ends, default=None)

    def _stays(self, one: _Known, capture_set: int, told: set[str], until_ns: int, is_certain: bool) -> bool:
        if one.capture_set != capture_set:
            return True
        if one.sighting.connection in told or (is_certain and not one.is_certain):
            return False
        return one.sighting.is_open or one.sighting.last_ns + KEPT_NS >= until_ns

    def _noted(self, sighting: Sighting, capture_set: int, before: _Known | None, is_certain: bool) -> _Known:
        if before is not None:
            return _Known(sighting, capture_set, before.since, before.root, is_certain)
        # A connection that was reported before another set existed has rows of an unknown first batch.
        since = self._batch if sighting.is_news else 0
        return _Known(sighting, capture_set, since, None, is_certain)

    def _marked(self, held: Sequence[_Known], known: dict[str, _Known], told: set[str]) -> list[_Known]:
        roots = _roots_of(held)
        found = []
        for one in held:
            connection = one.sighting.connection
            root = roots[connection]
            has_changed = root != one.root and one.since < self._batch
            if root != one.root or (root is not None and connection in told):
                was = self.marks.get(connection)
                is_changed = has_changed or (was is not None and was.is_changed)
                self.marks[connection] = Mark(connection, one.capture_set, root, one.since, is_changed)
            found.append(one._replace(root=root))
        return found

    def _read(self, key: bytes) -> list[_Known]:
        found = self._store.get(taps_key(key))
        return [] if found is None else pickle.loads(found[0])

    def _write(self, key: bytes, before: Sequence[_Known], after: Sequence[_Known]) -> None:
        if not after:
            if before:
                self._store.remove(taps_key(key))
        elif not _is_same(before, after):
            self._store.put(taps_key(key), pickle.dumps(after), NOTHING)


def _roots_of(held: Sequence[_Known]) -> dict[str, str | None]:
    """Return the connections that count. A root that is forgotten earlier stays the root."""
    there = {one.sighting.connection for one in held}
    gone = {
        one.sighting.connection: one.root for one in held if one.root is not None and one.root not in there
    }
    found = roots_of(one.sighting for one in held)
    return {
        name: gone.get(name, root if root is None else gone.get(root, root)) for name, root in found.items()
    }


def _is_same(before: Sequence[_Known], after: Sequence[_Known]) -> bool:
    """Return whether the stored entry is still good: only its time, or the end of a stream, moved a
    little.
    """
    if len(before) != len(after):
        return False
    by_connection = {one.sighting.connection: one for one in before}
    for one in after:
        old = by_connection.get(one.sighting.connection)
        if old is None or old[1:] != one[1:] or not _is_as_good(old.sighting, one.sighting):
            return False
    return True


def _is_as_good(old: Sighting, new: Sighting) -> bool:
    if old.is_open != new.is_open or new.last_ns - old.last_ns > _STALE_NS:
        return False
    return all(
        was[0] == now[0] and was[2] == now[2] and (now[1] - was[1]) & MASK < _MOVED
        for was, now in zip(old.spans, new.spans, strict=True)
    )
