"""Scans the directories for the files to read next, in order.

Rules:
- A file is complete if it ends where a packet ends and has not grown for a while, or if a later file of its
  capture set exists.
- Files of a capture set are read in the order of their first packets: an incomplete file delays the files
  after it.
- A file with the content of a file that was read is that file, whatever its name is now.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kdissect.capture.filesystems import absolute, is_url, without_options
from kdissect.capture.input_paths import files_in
from kdissect.capture.objects import Place, objects_at
from kdissect.capture.rotation import Key, natural_order, set_keys
from kdissect.pipeline.streaming.arrivals.candidates import Candidate, Patience, head_id
from kdissect.pipeline.streaming.arrivals.known_files import Registry, Taken, named_sets

_AT_ONCE = Patience(0.0)
_LATER = 1 << 63  # after every time


class _Scan(NamedTuple):
    """A scan. `ready` files are read now, `waiting` files are incomplete, `settles_in_s` is the time until
    the next scan, in seconds.
    """

    ready: list[Taken]
    waiting: tuple[str, ...]
    settles_in_s: float


class Scanner:
    """Scanner of paths: directories and files, also by their URLs. Raises OSError for the file system of the
    registry, and for URLs that do not answer at the first scan.
    """

    def __init__(
        self,
        paths: Sequence[str],
        registry: Registry,
        patience: Patience = _AT_ONCE,
        recursive: bool = False,
    ) -> None:
        self._paths = paths
        self._registry = registry
        self._patience = patience
        self._recursive = recursive
        self._candidates: dict[str, Candidate] = {}
        # The state of a path when it was read, or found to have been read already.
        self._settled: dict[str, tuple[int, int]] = {}
        self._known = 0
        self._stored: dict[str, list[Place]] = {}
        self._contents: set[str] = set()
        self._latest: dict[str, Taken] = {}

    def scan(self, now_s: float) -> _Scan:
        """Look once; `now_s` are seconds since 1970."""
        self._learn()
        self._look(now_s)
        found = [candidate for candidate in self._candidates.values() if candidate.is_capture]
        paths = [absolute(without_options(one.path)) for one in found]
        keys = set_keys(paths, self._registry.sets())
        by_set: dict[Key, list[Candidate]] = {}
        for key, candidate in zip(keys, found, strict=True):
            by_set.setdefault(key, []).append(candidate)
        ready = [(key, one) for key, held in by_set.items() for one in self._ready(held, now_s)]
        ready.sort(key=lambda pair: _order(pair[1]))
        taken = self._taken([(key, one) for key, one in ready if not self._is_known(one)], by_set)
        leaving = {one.path for one in taken}
        waiting = [one for one in self._candidates.values() if one.is_capture and one.path not in leaving]
        soon = min((self._patience.settle_s - one.quiet_s(now_s) for one in waiting), default=0.0)
        return _Scan(taken, tuple(one.path for one in waiting), max(0.0, soon))

    def _learn(self) -> None:
        """Take what the registry has come to know."""
        for entry in self._registry.entries[self._known :]:
            self._settled[entry.path] = entry.size, entry.mtime_ns
            self._latest[entry.path] = entry
            if entry.first_ns is not None:
                self._contents.add(entry.content)
            self._candidates.pop(entry.path, None)
        self._known = len(self._registry.entries)

    def _look(self, now_s: float) -> None:
        there: set[str] = set()
        for path, size, mtime_ns in self._listed():
            there.add(path)
            if self._settled.get(path) == (size, mtime_ns):
                continue
            if path not in self._candidates:
                self._candidates[path] = Candidate(path, self._latest.get(path))
            self._candidates[path].look(size, mtime_ns, now_s)
        for path in self._candidates.keys() - there:
            del self._candidates[path]

    def _listed(self) -> Iterator[tuple[str, int, int]]:
        """Path, size and time of all files that are there."""
        for place in self._paths:
            if is_url(place):
                for found in self._objects(place):
                    yield found.url, found.size or 0, found.mtime_ns
                continue
            is_directory = os.path.isdir(place)  # noqa: PTH112  paths stay strings, as in capture
            for path in files_in(place, self._recursive) if is_directory else (place,):
                try:
                    facts = os.stat(path)  # noqa: PTH116
                except OSError:  # removed since it was listed
                    continue
                yield path, facts.st_size, facts.st_mtime_ns

    def _objects(self, url: str) -> list[Place]:
        """List the objects of a store, or its former ones while it does not answer. Raises OSError if it
        never did.
        """
        try:
            self._stored[url] = objects_at(url, self._recursive)[0]
        except OSError:
            if url not in self._stored:
                raise
        return self._stored[url]

    def _ready(self, held: list[Candidate], now_s: float) -> Iterator[Candidate]:
        """Yield the files of one capture set that can be read, in order."""
        ordered = sorted(held, key=_order)
        latest = max((natural_order(one.path) for one in held), default=None)
        last_ns = max((one.first_ns for one in held if one.first_ns is not None), default=-_LATER)
        is_blocked = False
        for one in ordered:
            is_earlier = natural_order(one.path) != latest if one.first_ns is None else one.first_ns < last_ns
            # asked of all files, as it starts the time that each waits
            is_ready = self._is_ready(one, is_earlier, now_s)
            if is_ready and not is_blocked:
                yield one
            is_blocked = is_blocked or (not is_ready and one.first_ns is not None)

    def _is_ready(self, one: Candidate, has_successor: bool, now_s: float) -> bool:
        if not one.is_complete(has_successor, self._patience.settle_s, now_s):
            one.complete_since = None
            return False
        if one.complete_since is None:
            one.complete_since = now_s
        return now_s - one.complete_since >= self._patience.hold_s

    def _is_known(self, one: Candidate) -> bool:
        """Return whether the file was read before, under any name. A file that disappeared counts as read."""
        try:
            content = one.content()
        except OSError:
            return True
        is_touched = one.taken is not None and one.reading.packets <= one.taken.packets
        if one.first_ns is None or (content not in self._contents and not is_touched):
            if one.first_ns is not None:
                self._contents.add(content)
            return False
        self._settled[one.path] = one.size, one.mtime_ns
        self._candidates.pop(one.path, None)
        return True

    def _taken(self, ready: list[tuple[Key, Candidate]], seen: dict[Key, list[Candidate]]) -> list[Taken]:
        sets = named_sets(self._registry.sets(), seen, (key for key, _ in ready))
        counts = self._registry.files_in_sets()
        index = 1 + max((entry.file for entry in self._registry.entries), default=-1)
        taken = []
        for key, one in ready:
            number, name = sets[key]
            before = one.taken
            if before is None:
                counted = counts.get(number, 0)
                counts[number] = counted + (one.first_ns is not None)
                taken.append(_entry(one, (index, counted, 0), number, name, key))
                index += 1
            else:
                place = before.file, before.number, before.packets
                taken.append(_entry(one, place, before.capture_set, before.set_name, before.set_key))
        return taken


def _entry(one: Candidate, place: tuple[int, int, int], capture_set: int, name: str, key: Key) -> Taken:
    """Make the entry of a file. `place` is its index, its number within the capture set, and what to skip."""
    index, number, skip = place
    reading, head = one.reading, head_id(one.path, one.size)
    return Taken(
        index, one.path, capture_set, name, key, number, one.size, one.mtime_ns, one.content(), head,
        one.first_ns, reading.end_ns, reading.packets, skip,
    )  # fmt: skip


def _order(one: Candidate) -> tuple[int, list[tuple[int, int, str]]]:
    """Sort by the first packet, as runs read files, with files without packets last."""
    return _LATER if one.first_ns is None else one.first_ns, natural_order(one.path)
