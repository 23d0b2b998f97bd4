"""Offsets of the stream: how many entries of the registry a batch takes, and its facts for their capture
sets.

Spark journals an offset before its batch begins, so that a repeated batch has the same files and the same
facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kdissect.pipeline.inputs import TASK_BYTES
from kdissect.pipeline.streaming.arrivals.known_files import Taken
from kdissect.pipeline.streaming.batch_facts import BatchFacts


class Offset(NamedTuple):
    """An offset: the batch numbered `batch` ends after `taken` entries of the registry.

    `last` are capture sets without a waiting file at that time.
    """

    taken: int = 0
    batch: int = -1
    last: frozenset[int] = frozenset()

    def journaled(self) -> dict[str, object]:
        """Return the offset as Spark journals it: numbers and text only."""
        return {"taken": self.taken, "batch": self.batch, "last": ",".join(map(str, sorted(self.last)))}

    @classmethod
    def of(cls, journaled: dict[str, object]) -> Offset:
        """Read an offset from the result of `journaled`."""
        last = frozenset(int(number) for number in str(journaled["last"]).split(",") if number)
        return cls(int(str(journaled["taken"])), int(str(journaled["batch"])), last)


def next_offset(start: Offset, entries: Sequence[Taken], max_files: int, max_bytes: int) -> Offset:
    """Return the end of the batch after `start`: at least one entry, if there is one."""
    taken, size = start.taken, 0
    for entry in entries[start.taken : start.taken + max(1, max_files)]:
        if taken > start.taken and size + entry.size > max_bytes:
            break
        taken, size = taken + 1, size + entry.size
    if taken == start.taken:
        return start
    beyond = {entry.capture_set for entry in entries[taken:]}
    within = {entry.capture_set for entry in entries[start.taken : taken]}
    return Offset(taken, start.batch + 1, frozenset(within - beyond))


def facts_of(entries: Sequence[Taken], end: Offset, has_taps: bool = False) -> list[BatchFacts]:
    """Return the facts of a batch for each capture set."""
    by_set: dict[int, list[Taken]] = {}
    for entry in entries:
        by_set.setdefault(entry.capture_set, []).append(entry)
    return [
        BatchFacts(end.batch, number, held[0].set_name, _first_times(held), number in end.last, has_taps)
        for number, held in sorted(by_set.items())
    ]


def may_have_taps(paths: Sequence[str], entries: Sequence[Taken]) -> bool:
    """Return whether the same traffic may come from several hosts: one directory is one host, until it has
    files of another capture set.
    """
    return len(paths) > 1 or len({entry.capture_set for entry in entries}) > 1


def tasks_of(entries: Sequence[Taken], task_bytes: int = TASK_BYTES) -> list[list[Taken]]:
    """Return entries for each reading task: small files together, in their order."""
    tasks: list[list[Taken]] = []
    filled = task_bytes
    for entry in entries:
        if filled + entry.size > task_bytes:
            tasks.append([])
            filled = 0
        tasks[-1].append(entry)
        filled += entry.size
    return tasks


def _first_times(entries: Sequence[Taken]) -> dict[int, int | None]:
    """Return the first time by file. A file with two entries, as it grew, counts from its first one."""
    found: dict[int, int | None] = {}
    for entry in entries:
        found.setdefault(entry.file, entry.first_ns)
    return found
