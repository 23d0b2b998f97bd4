"""What a reducing task does: the events of its flows become rows, and rows become Parquet files.

It writes the files itself and hands Spark their names: one pass fills all tables, whatever their columns, and
what a task that failed half-way has written is never named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any
from uuid import uuid4

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.model.limits import use
from kdissect.model.packets.packet import FILE_SHIFT
from kdissect.pipeline.flow_shuffle.run import Run, from_batches, merged
from kdissect.pipeline.flow_shuffle.sent_to_all import KEY, News
from kdissect.pipeline.table_files.forwarded_files import BROKERS, NAMES, brokers_batch, split_forwarded
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, written_batch
from kdissect.pipeline.task_setup import Setup
from kdissect.session.detection.known_brokers import Brokers
from kdissect.stages.per_flow import FORWARDED, FlowStage
from kdissect.stages.rows.file_rows import note_empty
from kdissect.stages.rows.table_rows import TableRows


class Reduction:
    """The function of the task, for `mapInArrow`. `staging` is where it writes."""

    def __init__(
        self, setup: Setup, staging: str, tables: frozenset[str], partition_by: tuple[str, ...]
    ) -> None:
        self._setup = setup
        self._staging = staging
        self._tables = tables
        self._partition_by = partition_by

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        use(self._setup.limits)
        parts = parts_in(self._staging, self._partition_by)
        news, brokers = News(), Brokers(self._setup.brokers)
        for name, batch in self._made(batches, news, brokers):
            if name == FORWARDED:
                names, others = split_forwarded(batch)
                if names.num_rows:
                    parts.add(NAMES, names)
                parts.add(FORWARDED, others)
            else:
                parts.add(name, batch)
        for name, batch in self._of_files(news):
            parts.add(name, batch)
        parts.add(BROKERS, brokers_batch(brokers))
        yield written_batch(parts.close())

    def _made(self, batches: Iterable[Any], news: News, brokers: Brokers) -> Iterator[tuple[str, Any]]:
        stage = FlowStage(self._setup.files, self._tables)
        for events in flows(from_batches(batches), self._setup, news, brokers):
            stage.begin_flow()
            for placed in events:
                stage.add(placed)
            yield from stage.take()
        yield from stage.close()

    def _of_files(self, news: News) -> Iterator[tuple[str, Any]]:
        note_empty(news.files)
        rows = TableRows(self._tables & {"files", "anomalies"})
        for told in news.files:
            rows.add("files", told.file)
            if "anomalies" in self._tables:
                for row in told.anomalies:
                    rows.add("anomalies", row)
        yield from rows.close()


def parts_in(staging: str, partition_by: tuple[str, ...]) -> ParquetParts:
    """Files of an attempt of its own."""
    filesystem, root = filesystem_of(staging)
    return ParquetParts(filesystem, root, partition_by, uuid4().hex[:12])


def flows(
    runs: Iterable[Run], setup: Setup, news: News | None = None, brokers: Brokers | None = None
) -> Iterator[Iterator[Placed]]:
    """The events of each flow of a partition, in their order; to be consumed flow by flow.

    `news` is filled before the first flow, `brokers` as flows are consumed.
    """
    news = news or News()
    brokers = brokers or Brokers(setup.brokers)
    secrets = setup.secrets(news)
    numbers = setup.numbers()
    for key, rows in groupby(runs, key=attrgetter("key")):
        if key == KEY:
            for row in rows:
                news.take(row)
        else:
            analyzer = OrderedAnalyzer(setup.analyzer(secrets, brokers), numbers.__getitem__)
            yield _events(analyzer, rows, setup, news)


def _events(analyzer: OrderedAnalyzer, rows: Iterator[Run], setup: Setup, news: News) -> Iterator[Placed]:
    """All events of one flow."""
    files: set[int] = set()
    feed = analyzer.feed_segment
    for now_ns, ref, segment, time_ns in merged(_noting(rows, files)):
        yield from feed(segment, ref, time_ns, now_ns)
    yield from analyzer.close(setup.ends_of(files, news))


def _noting(rows: Iterator[Run], files: set[int]) -> Iterator[Run]:
    """Rows as they come, and the files they are of."""
    for row in rows:
        files.add(row.ref >> FILE_SHIFT)
        yield row
