"""What makes a micro-batch count: its state, its files, one manifest.

A batch that Spark repeats after a crash reads the state of the batch before, which stays until the next one
is through, and takes the place of all that it had written. So what was done how far does not matter.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.rows import Row
from kdissect.history.topics import TopicNames
from kdissect.pipeline.compaction import plan
from kdissect.pipeline.joining import joined
from kdissect.pipeline.parquet_parts import WrittenFile
from kdissect.pipeline.reduction import parts_in
from kdissect.pipeline.relay_files import NAMES, STAGED, learn_names
from kdissect.pipeline.sink.alerts import Alerts
from kdissect.pipeline.sink.place import SinkPlace
from kdissect.pipeline.streaming.registry import Catalogue
from kdissect.pipeline.streaming.set_work import REPORT_DDL, SetReport, SetTask, SetWork
from kdissect.pipeline.streaming.settings import Settings
from kdissect.pipeline.streaming.shard import Report
from kdissect.pipeline.whole_object import names_in as files_named
from kdissect.pipeline.whole_object import read_whole, write_whole
from kdissect.stages.first import OF_JUDGES
from kdissect.stages.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.judges import Judgement
from kdissect.stages.names import Names
from kdissect.stages.table_rows import TableRows, batch_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALWAYS = "files"
EMPTY_TABLES = "empty tables"
_INDEX = ".index"


class Index(NamedTuple):
    """Where the state of each capture set stands after a batch, by its number: (state, judgement)."""

    sets: dict[int, tuple[str, str | None]]
    names: str | None

    @property
    def paths(self) -> set[str]:
        """All files that it names."""
        named = {path for pair in self.sets.values() for path in pair if path is not None}
        return named | ({self.names} if self.names else set())


class Done(NamedTuple):
    """A batch that counts: what a person wants to know of it."""

    batch: int
    rows: dict[str, int]
    flows: int
    state_bytes: int
    segments: int
    unread: tuple[tuple[str, str], ...]
    last_ns: dict[str, int]


class Batches:
    """Commits batches. Keeps nothing between two of them but what stands in the checkpoint."""

    def __init__(self, settings: Settings, place: SinkPlace, alerts: Alerts | None = None) -> None:
        self._settings = settings
        self._place = place
        self._alerts = alerts
        self._filesystem, self._root = filesystem_of(settings.own)

    def commit(self, spark: SparkSession, reports: Sequence[Report]) -> Done:
        """Finish a batch whose shards are through. Raises OSError, and what Spark raises."""
        batch = reports[0].facts.batch
        staging = self.staging(batch)
        before = self._index(batch - 1)
        names = self._learned(reports, staging, before)
        by_set: dict[int, list[Report]] = {}
        for report in sorted(reports, key=lambda report: report.facts.capture_set):
            by_set.setdefault(report.facts.capture_set, []).append(report)
        tasks = [self._task(batch, number, held, before) for number, held in by_set.items()]
        sets = self._work(spark, tasks, SetWork(self._settings, staging, names))
        after = self._index_after(batch, before, by_set, names)
        self._commit(spark, batch, reports, sets, after, names)
        self._forget(batch, before, after)
        return self._done(batch, reports, sets)

    def staging(self, batch: int) -> str:
        """Where the tasks of a batch write, as a URL like that of the output."""
        return staging_url(self._settings, self._place, batch)

    # state

    def _index(self, batch: int) -> Index:
        data = read_whole(self._filesystem, self._path(f"{batch:010}{_INDEX}")) if batch >= 0 else None
        if data is None:
            return Index({}, None)
        told = json.loads(data)
        sets = {int(number): (state, judgement) for number, (state, judgement) in told["sets"].items()}
        return Index(sets, told["names"])

    def _index_after(self, batch: int, before: Index, by_set: dict[int, list[Report]], names: Names) -> Index:
        path = self._path(f"{batch:010}.names")
        write_whole(self._filesystem, path, pickle.dumps(names))
        sets = dict(before.sets)
        for number, held in by_set.items():
            state, judgement = self._state_paths(batch, number)
            old = sets[number][1] if number in sets else None
            sets[number] = state, judgement if held[0].facts.is_last else old
        after = Index(sets, path)
        write_whole(
            self._filesystem, self._path(f"{batch:010}{_INDEX}"), json.dumps(after._asdict()).encode()
        )
        return after

    def _forget(self, batch: int, before: Index, after: Index) -> None:
        """Delete what no batch can ask for any more: this one may be repeated, with the one before."""
        keep = before.paths | after.paths
        keep |= {self._path(f"{number:010}{_INDEX}") for number in (batch - 1, batch)}
        for suffix in (_INDEX, ".names", ".state", ".judgement"):
            for name in files_named(self._filesystem, self._path(""), suffix):
                if self._path(name) not in keep:
                    self._filesystem.delete_file(self._path(name))

    def _state_paths(self, batch: int, number: int) -> tuple[str, str]:
        stem = self._path(f"{batch:010}-{number:05}")
        return f"{stem}.state", f"{stem}.judgement"

    def _path(self, name: str) -> str:
        return f"{self._root}/sets/{name}".rstrip("/")

    # work

    def _learned(self, reports: Sequence[Report], staging: str, before: Index) -> Names:
        """All names of topic ids that were told up to now."""
        data = None if before.names is None else read_whole(self._filesystem, before.names)
        names: Names = Names(TopicNames(self._settings.topic_ids)) if data is None else pickle.loads(data)
        filesystem, root = filesystem_of(staging)
        told = [
            file for report in reports for file in (*report.files, *report.open_files) if file.table == NAMES
        ]
        learn_names(filesystem, root, told, names)
        return names

    def _task(self, batch: int, number: int, reports: list[Report], before: Index) -> SetTask:
        state = before.sets[number][0] if number in before.sets else None
        reports = sorted(
            reports, key=lambda report: not report.told
        )  # the shard that tells of files is first
        return SetTask(tuple(reports), state, *self._state_paths(batch, number))

    def _work(self, spark: SparkSession, tasks: list[SetTask], function: SetWork) -> list[SetReport]:
        if len(tasks) == 1:
            return [function.do(tasks[0])]
        rows = [(number, pickle.dumps(task)) for number, task in enumerate(tasks)]
        frame = spark.createDataFrame(rows, "number INT, task BINARY").repartitionById(len(rows), "number")
        return [pickle.loads(row[0]) for row in frame.mapInArrow(function, REPORT_DDL).collect()]

    def _commit(
        self, spark: SparkSession, batch: int, reports: Sequence[Report], sets: Sequence[SetReport], after:
        Index, names: Names,
    ) -> None:  # fmt: skip
        staging = self.staging(batch)
        final = [file for report in reports for file in report.files]
        final += [file for found in sets for file in found.files]
        added = self._compacted(spark, final, staging, names)
        replaced: dict[str, list[WrittenFile]] = {}
        for found in sets:
            own = [report for report in reports if report.facts.capture_set == found.capture_set]
            open_files = [*found.open_files, *(file for report in own for file in report.open_files)]
            replaced[f"set {found.capture_set}"] = self._compacted(spark, open_files, staging, names)
        findings: list[Row] = []
        if self._settings.tables & OF_JUDGES and any(report.facts.is_last for report in reports):
            findings, judged = self._judged(staging, after)
            replaced |= judged
        new = [*added, *(file for files in replaced.values() for file in files)]
        replaced[EMPTY_TABLES] = self._empty(batch, new, replaced)
        self._place.commit_batch(batch, added, replaced, {"tables": sorted(self._settings.tables | {ALWAYS})})
        if self._alerts is not None:
            self._alerts.tell(batch, findings)

    def _compacted(
        self, spark: SparkSession, files: Iterable[WrittenFile], staging: str, names: Names
    ) -> list[WrittenFile]:
        stay, groups = plan(file for file in files if file.table not in STAGED)
        return stay + joined(spark, groups, staging, names)

    def _judged(self, staging: str, after: Index) -> tuple[list[Row], dict[str, list[WrittenFile]]]:
        """Findings, and the tables of what all judges together came to."""
        judgement = Judgement()
        for _, path in after.sets.values():
            data = None if path is None else read_whole(self._filesystem, path)
            if data is not None:
                judgement.merge(pickle.loads(data))
        catalogue = Catalogue(self._filesystem, self._root)
        findings = list(finding_rows(judgement, catalogue))
        made = {"findings": findings, "coverage": coverage_rows(judgement)}
        wanted = self._settings.tables & OF_JUDGES
        rows = TableRows(wanted)
        for table in wanted:
            for row in made[table]:
                rows.add(table, row)
        parts = parts_in(staging, self._settings.partition_by)
        for table, batch in rows.close():
            parts.add(table, batch)
        files = parts.close()
        return findings, {table: [file for file in files if file.table == table] for table in wanted}

    def _empty(
        self, batch: int, new: Iterable[WrittenFile], replaced: dict[str, list[WrittenFile]]
    ) -> list[WrittenFile]:
        """A file for each table without rows: who queries it finds its columns."""
        gone = {EMPTY_TABLES, *replaced}
        there = {
            entry.table
            for entry in self._place.entries()
            if (entry.part or entry.table) not in gone and entry.batch != batch
        }
        parts = parts_in(self.staging(batch), self._settings.partition_by)
        for table in (self._settings.tables | {ALWAYS}) - there - {file.table for file in new}:
            parts.add(table, batch_of(table, []))
        return parts.close()

    def _done(self, batch: int, reports: Sequence[Report], sets: Sequence[SetReport]) -> Done:
        rows: dict[str, int] = {}
        files = [file for report in reports for file in report.files]
        for file in (*files, *(file for found in sets for file in found.files)):
            if file.table not in STAGED:
                rows[file.table] = rows.get(file.table, 0) + file.rows
        return Done(
            batch,
            rows,
            sum(report.flows for report in reports),
            sum(report.state_bytes for report in reports) + sum(found.state_bytes for found in sets),
            sum(report.segments for report in reports),
            tuple(pair for found in sets for pair in found.unread),
            {report.facts.set_name: report.last_ns for report in reports if report.last_ns is not None},
        )


def staging_url(settings: Settings, place: SinkPlace, batch: int) -> str:
    """Where the tasks of a batch write, as a URL like that of the output."""
    return f"{settings.output.rstrip('/')}{place.staging(batch).removeprefix(place.root)}"
