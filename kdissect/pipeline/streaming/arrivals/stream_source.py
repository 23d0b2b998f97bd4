"""The streaming data source: files that came, as runs for the shards of their capture sets.

The reader lives in a process of its own beside the driver; `read` runs in tasks.
"""

from __future__ import annotations

import pickle
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import use
from kdissect.pipeline.flow_shuffle.run import RUN_DDL, to_batches
from kdissect.pipeline.inputs import TASK_BYTES
from kdissect.pipeline.streaming.arrivals.known_files import Registry, Taken
from kdissect.pipeline.streaming.arrivals.scanner import Scanner
from kdissect.pipeline.streaming.batch_facts import BatchFacts, StreamMapping
from kdissect.pipeline.streaming.stream_settings import Settings

NAME = "kdissect-stream"
# With --once: looks at what is still being written, while it may settle.
_LOOKS = 20


class _Portion(InputPartition):
    """What one task reads: entries, and facts for the shards of capture sets."""

    def __init__(self, entries: Sequence[Taken], facts: Sequence[BatchFacts] = ()) -> None:
        super().__init__(None)
        self.entries = tuple(entries)
        self.facts = tuple(facts)


class StreamSource(DataSource):
    """Made with the option `settings`, by `option_of`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """Rows are runs."""
        return RUN_DDL

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802  Spark's name
        """A reader of the directories."""
        settings: Settings = pickle.loads(b64decode(self.options["settings"]))
        return StreamReader(settings)


def option_of(settings: Settings) -> str:
    """Settings as text."""
    return b64encode(pickle.dumps(settings)).decode()


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Finds files, remembers them, and deals them out."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._registry = Registry(*filesystem_of(settings.own))
        self._scanner: Scanner | None = None
        self._is_over = False

    def initialOffset(self) -> dict[str, object]:  # noqa: N802
        """Nothing is taken."""
        return Offset().told()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The bound of a batch in files; that in bytes is our own."""
        return ReadMaxFiles(self._settings.max_files)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take what is there by now, and nothing that comes later."""
        self._scan(True)
        self._is_over = True

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802
        """The end of the next batch; `start` where nothing is ready."""
        if not self._is_over:
            self._scan(False)
        settings, everything = self._settings, 1 << 62
        bounds = settings.max_files, settings.max_bytes
        if isinstance(limit, ReadAllAvailable):
            bounds = everything, everything
        return next_offset(Offset.of(start), self._registry.entries, *bounds).told()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        """Portions of a batch; the first one also tells the shards of it."""
        self._registry.refresh()
        until = Offset.of(end)
        entries = self._registry.entries[Offset.of(start).taken : until.taken]
        if not entries:
            return []
        has_taps = may_have_taps(self._settings.paths, self._registry.entries[: until.taken])
        return [
            _Portion([], facts_of(entries, until, has_taps)),
            *(_Portion(task) for task in tasks_of(entries)),
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of runs."""
        assert isinstance(partition, _Portion)
        use(self._settings.limits)
        shards = self._settings.shards
        yield from to_batches(run for facts in partition.facts for run in facts.runs(shards))
        yield from to_batches(StreamMapping(shards).runs(partition.entries))

    def _scan(self, is_once: bool) -> None:
        if self._scanner is None:
            self._registry.refresh()
            settings = self._settings
            patience = settings.patience._replace(hold_s=0.0) if is_once else settings.patience
            self._scanner = Scanner(settings.paths, self._registry, patience, settings.recursive)
        for _ in range(_LOOKS if is_once else 1):
            scan = self._scanner.scan(time.time())
            if scan.ready:
                self._registry.add(scan.ready)
            if not scan.waiting or not scan.settles_in_s:
                return
            if is_once:
                time.sleep(scan.settles_in_s)


# Offsets of the stream: how many entries of the registry a batch takes, and what it tells their capture
# sets.
#
# An offset is journaled by Spark before its batch begins, so that a repeated batch has the same files and the
# same facts.
class Offset(NamedTuple):
    """`taken` entries are through with the batch numbered `batch`; `last` are capture sets of which nothing
    more was known to wait then.
    """

    taken: int = 0
    batch: int = -1
    last: frozenset[int] = frozenset()

    def told(self) -> dict[str, object]:
        """As Spark journals it: numbers and text only."""
        return {"taken": self.taken, "batch": self.batch, "last": ",".join(map(str, sorted(self.last)))}

    @classmethod
    def of(cls, told: dict[str, object]) -> Offset:
        """What `told` gave."""
        last = frozenset(int(number) for number in str(told["last"]).split(",") if number)
        return cls(int(str(told["taken"])), int(str(told["batch"])), last)


def next_offset(start: Offset, entries: Sequence[Taken], max_files: int, max_bytes: int) -> Offset:
    """The end of the batch behind `start`: at least one entry, if there is one."""
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
    """What each capture set of a batch is told."""
    by_set: dict[int, list[Taken]] = {}
    for entry in entries:
        by_set.setdefault(entry.capture_set, []).append(entry)
    return [
        BatchFacts(end.batch, number, held[0].set_name, _first_times(held), number in end.last, has_taps)
        for number, held in sorted(by_set.items())
    ]


def may_have_taps(paths: Sequence[str], entries: Sequence[Taken]) -> bool:
    """Whether the same traffic may come from several hosts: those who are told of one directory have one,
    until files of another capture set are there.
    """
    return len(paths) > 1 or len({entry.capture_set for entry in entries}) > 1


def tasks_of(entries: Sequence[Taken], task_bytes: int = TASK_BYTES) -> list[list[Taken]]:
    """Entries for each reading task: small files together, in their order."""
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
    """By file; a file that is there twice, as it grew, counts from where it was taken first."""
    found: dict[int, int | None] = {}
    for entry in entries:
        found.setdefault(entry.file, entry.first_ns)
    return found
