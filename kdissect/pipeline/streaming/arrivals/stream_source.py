"""The streaming data source: files that came, as runs for the shards of their capture sets.

The reader lives in a process of its own next to the driver. `read` runs in tasks.
"""

from __future__ import annotations

import pickle
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import use
from kdissect.pipeline.streaming.arrivals.known_files import Registry, Taken
from kdissect.pipeline.streaming.arrivals.offsets import (
    Offset,
    facts_of,
    may_have_taps,
    next_offset,
    tasks_of,
)
from kdissect.pipeline.streaming.arrivals.scanner import Scanner
from kdissect.pipeline.streaming.batch_facts import BatchFacts, StreamMapping
from kdissect.pipeline.streaming.flow_shuffle.run import RUN_DDL, to_batches
from kdissect.pipeline.streaming.stream_settings import Settings

NAME = "kdissect-stream"
# With --once: scans of files that are still being written, while they may settle.
_LOOKS = 20


class _Portion(InputPartition):
    """The input of one task: entries, and facts for the shards of capture sets."""

    def __init__(self, entries: Sequence[Taken], facts: Sequence[BatchFacts] = ()) -> None:
        super().__init__(None)
        self.entries = tuple(entries)
        self.facts = tuple(facts)


class StreamSource(DataSource):
    """Made with the option `settings`, by `option_of`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Rows are runs."""
        return RUN_DDL

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802  Spark's name
        """Return a reader of the directories."""
        settings: Settings = pickle.loads(b64decode(self.options["settings"]))
        return StreamReader(settings)


def option_of(settings: Settings) -> str:
    """Return settings as text."""
    return b64encode(pickle.dumps(settings)).decode()


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of the stream that finds files, remembers them, and divides them among tasks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._registry = Registry(*filesystem_of(settings.own))
        self._scanner: Scanner | None = None
        self._is_over = False

    def initialOffset(self) -> dict[str, object]:  # noqa: N802
        """Return the offset before the first file."""
        return Offset().journaled()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the bound of a batch in files. The bound in bytes is our own."""
        return ReadMaxFiles(self._settings.max_files)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read the files that exist now, without later files."""
        self._scan(True)
        self._is_over = True

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802
        """Return the end of the next batch, or `start` if no file is ready."""
        if not self._is_over:
            self._scan(False)
        settings, everything = self._settings, 1 << 62
        bounds = settings.max_files, settings.max_bytes
        if isinstance(limit, ReadAllAvailable):
            bounds = everything, everything
        return next_offset(Offset.of(start), self._registry.entries, *bounds).journaled()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        """Return the portions of a batch. The first one also has the facts for its shards."""
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
