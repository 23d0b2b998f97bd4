"""A committed micro-batch: its state, its files, one manifest.

A batch that Spark repeats after a crash reads the state of the batch before, which stays until the next batch
is complete, and replaces all files that it had written. So it does not matter how far the crashed attempt
got.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.exchange_rows import Row
from kdissect.engine.tables.all_tables import TABLES
from kdissect.history.topics.topic_names import TopicNames
from kdissect.pipeline.sink.alerts import Alerts
from kdissect.pipeline.sink.rewriting import Rewriting, waiting_for
from kdissect.pipeline.sink.table_directory import Rewritten, StreamDirectory
from kdissect.pipeline.spark_tasks import by_tasks
from kdissect.pipeline.streaming.amending import (
    Amendment,
    Unnamed,
    amended,
    marked_files,
    named_now,
    unnamed_in,
    with_more,
)
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.flows.known_duplicate_taps import Mark
from kdissect.pipeline.streaming.flows.shard import OF_FLOWS, Report
from kdissect.pipeline.streaming.known_nat_sides import KnownNatSides
from kdissect.pipeline.streaming.set_log import FIRST, SetRecord, Step
from kdissect.pipeline.streaming.set_work import SetReport, SetTask, SetWork
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.forwarded_files import NAMES, STAGED, learn_names
from kdissect.pipeline.table_files.parquet_parts import WrittenFile, parts_in
from kdissect.pipeline.table_files.small_files import joined, plan
from kdissect.pipeline.table_files.whole_object import names_in as files_named
from kdissect.pipeline.table_files.whole_object import read_named, read_whole, write_whole
from kdissect.stages.judges import Judgement
from kdissect.stages.per_flow import OF_JUDGES
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.rows.table_rows import TableRows, batch_of
from kdissect.stages.topic_id_names import Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALWAYS = "files"
_EMPTY_TABLES = "empty tables"
_INDEX = ".index"
# Files of a capture set in the checkpoint, in the order in which a `SetTask` takes the paths.
_OF_SETS = (".state", ".silent", ".segment", ".open", ".judgement")


class Index(NamedTuple):
    """Index of the state after a batch: capture sets by number, names of topics, ids without a name, sides of
    a NAT.
    """

    sets: dict[int, SetRecord]
    names: str | None
    unnamed: Unnamed
    nat_sides: KnownNatSides

    @property
    def paths(self) -> set[str]:
        """All files that it names."""
        named = {path for record in self.sets.values() for path in record.paths}
        return named | ({self.names} if self.names else set())


class _Amends(NamedTuple):
    """Facts of a batch about earlier batches: connections and ids, and the first wrong batch of each capture
    set.
    """

    amendment: Amendment
    since: dict[int, int]


class Done(NamedTuple):
    """A batch that counts: what a person wants to know of it.

    `taps` are the capture sets that `kdissect tap` wrote: their connections are not looked for in other sets.
    """

    batch: int
    rows: dict[str, int]
    flows: int
    state_bytes: int
    segments: int
    unread: tuple[tuple[str, str], ...]
    last_ns: dict[str, int]
    taps: tuple[str, ...] = ()


class Batches:
    """Committer of batches. Between two batches its state is in the checkpoint only."""

    def __init__(self, settings: Settings, directory: StreamDirectory, alerts: Alerts | None = None) -> None:
        self._settings = settings
        self._directory = directory
        self._alerts = alerts
        self._filesystem, self._root = filesystem_of(settings.own)

    def commit(self, spark: SparkSession, reports: Sequence[Report]) -> Done:
        """Finish a batch whose shards are through. Raises OSError, and what Spark raises."""
        batch = reports[0].facts.batch
        staging = self.staging(batch)
        before = self._index(batch - 1)
        names = self._learned(reports, staging, before)
        marks = before.nat_sides.take(
            batch, reports, {number: record.marks for number, record in before.sets.items()}
        )
        records = _records(before, reports, marks)
        amends = _amends(batch, records, marks, before.unnamed, names)
        tasks = self._tasks(batch, records, reports, amends.since)
        sets = self._work(spark, tasks, SetWork(self._settings, staging, names))
        records |= {
            task.capture_set: _stepped(task, report) for task, report in zip(tasks, sets, strict=True)
        }
        after = self._index_after(batch, before, records, reports, names)
        self._commit(spark, batch, reports, sets, after, names, amends)
        self._forget(batch, before, after)
        return self._done(batch, reports, sets)

    def staging(self, batch: int) -> str:
        """Return the URL, like that of the output, at which the tasks of a batch write."""
        return staging_url(self._settings, self._directory, batch)

    # state

    def _index(self, batch: int) -> Index:
        data = read_whole(self._filesystem, self._path(f"{batch:010}{_INDEX}")) if batch >= 0 else None
        return Index({}, None, {}, KnownNatSides()) if data is None else pickle.loads(data)

    def _index_after(
        self,
        batch: int,
        before: Index,
        records: dict[int, SetRecord],
        reports: Sequence[Report],
        names: Names,
    ) -> Index:
        path = self._path(f"{batch:010}.names")
        write_whole(self._filesystem, path, pickle.dumps(names))
        filesystem, root = filesystem_of(self.staging(batch))
        files = [file for report in reports for file in (*report.files, *report.open_files)]
        unnamed = with_more(before.unnamed, unnamed_in(filesystem, root, files, names), batch)
        for topic in named_now(before.unnamed, names):
            del unnamed[topic]
        after = Index(records, path, unnamed, before.nat_sides)
        write_whole(self._filesystem, self._path(f"{batch:010}{_INDEX}"), pickle.dumps(after))
        return after

    def _forget(self, batch: int, before: Index, after: Index) -> None:
        """Delete what no batch can ask for any more: this one may be repeated, with the one before."""
        keep = before.paths | after.paths
        keep |= {self._path(f"{number:010}{_INDEX}") for number in (batch - 1, batch)}
        for suffix in (_INDEX, ".names", OF_FLOWS, *_OF_SETS):
            for name in files_named(self._filesystem, self._path(""), suffix):
                if self._path(name) not in keep:
                    self._filesystem.delete_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/sets/{name}".rstrip("/")

    # work

    def _learned(self, reports: Sequence[Report], staging: str, before: Index) -> Names:
        """Return all names of topic ids that are known up to now."""
        data = None if before.names is None else read_named(self._filesystem, before.names)
        names: Names = Names(TopicNames(self._settings.topic_ids)) if data is None else pickle.loads(data)
        filesystem, root = filesystem_of(staging)
        told = [
            file for report in reports for file in (*report.files, *report.open_files) if file.table == NAMES
        ]
        learn_names(filesystem, root, told, names)
        return names

    def _tasks(
        self, batch: int, records: dict[int, SetRecord], reports: Sequence[Report], since: dict[int, int]
    ) -> list[SetTask]:
        """Return a task for each set that the batch has files of, or shows to be wrong."""
        by_set: dict[int, list[Report]] = {number: [] for number in since}
        for report in sorted(reports, key=lambda report: not report.told):  # the report about files is first
            by_set.setdefault(report.facts.capture_set, []).append(report)
        tasks = []
        for number, held in sorted(by_set.items()):
            paths = [self._path(f"{batch:010}-{number:05}{suffix}") for suffix in _OF_SETS]
            tasks.append(SetTask(batch, number, tuple(held), records[number], since.get(number), *paths))
        return tasks

    def _work(self, spark: SparkSession, tasks: list[SetTask], function: SetWork) -> list[SetReport]:
        return [function(tasks[0])] if len(tasks) == 1 else by_tasks(spark, function, tasks)

    def _commit(
        self, spark: SparkSession, batch: int, reports: Sequence[Report], sets: Sequence[SetReport], after:
        Index, names: Names, amends: _Amends,
    ) -> None:  # fmt: skip
        staging = self.staging(batch)
        roots = {name: mark[0] for record in after.sets.values() for name, mark in record.marks.items()}
        write = partial(self._compacted, spark, staging, names, roots)
        final = [file for report in reports for file in report.files]
        final += [file for found in sets for file in found.files]
        added = write(final)
        replaced: dict[str, list[WrittenFile]] = {
            f"set {found.capture_set}": write(found.open_files) for found in sets
        }
        for number in sorted({report.facts.capture_set for report in reports}):
            own = [report for report in reports if report.facts.capture_set == number]
            replaced[f"open {number}"] = write(file for report in own for file in report.open_files)
            for report in own:
                replaced |= {part: write(held) for part, held in report.settled_files.items()}
        findings: list[Row] = []
        is_told = amends.since or any(report.facts.is_last for report in reports)
        if self._settings.tables & OF_JUDGES and is_told:
            findings, judged = self._judged(staging, after)
            replaced |= judged
        new = [*added, *(file for files in replaced.values() for file in files)]
        replaced[_EMPTY_TABLES] = self._empty(batch, new, replaced)
        self._commit_files(batch, added, replaced, amends.amendment)
        if self._alerts is not None:
            self._alerts.send(batch, findings)

    def _commit_files(
        self, batch: int, added: list[WrittenFile], replaced: dict[str, list[WrittenFile]], amendment:
        Amendment,
    ) -> None:  # fmt: skip
        facts = {"tables": sorted(self._settings.tables | {ALWAYS})}
        if not (amendment.roots or amendment.ids):
            self._directory.commit_batch(batch, added, replaced, facts)
            return
        with waiting_for(Rewriting(self._directory)) as rewriting:
            entries = [
                entry
                for entry in self._directory.entries()
                if entry.batch != batch and entry.replaced_as not in replaced
            ]
            swaps = list(amended(rewriting, entries, amendment))
            self._directory.commit_batch(batch, added, replaced, facts, Rewritten(rewriting.run, swaps))

    def _compacted(
        self, spark: SparkSession, staging: str, names: Names, roots: dict[str, str], files:
        Iterable[WrittenFile],
    ) -> list[WrittenFile]:  # fmt: skip
        stay, groups = plan(file for file in files if file.table not in STAGED)
        found = stay + joined(spark, groups, staging, names)
        return marked_files(*filesystem_of(staging), found, roots) if roots else found

    def _judged(self, staging: str, after: Index) -> tuple[list[Row], dict[str, list[WrittenFile]]]:
        """Return findings, and the tables of all judges together."""
        judgement = Judgement()
        for record in after.sets.values():
            if record.judgement is not None:
                judgement.merge(pickle.loads(read_named(self._filesystem, record.judgement)))
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
        """Write a file for each table without rows, so that a query finds its columns."""
        gone = {_EMPTY_TABLES, *replaced}
        there = {
            entry.table
            for entry in self._directory.entries()
            if (entry.part or entry.table) not in gone and entry.batch != batch
        }
        parts = parts_in(self.staging(batch), self._settings.partition_by)
        for table in (self._settings.tables | {ALWAYS}) - there - {file.table for file in new}:
            parts.add(table, batch_of(TABLES[table], []))
        return parts.close()

    def _done(self, batch: int, reports: Sequence[Report], sets: Sequence[SetReport]) -> Done:
        rows: dict[str, int] = {}
        files = [file for report in reports for file in report.files]
        for file in (*files, *(file for found in sets for file in found.files)):
            if file.table not in STAGED:
                rows[file.table] = rows.get(file.table, 0) + file.rows
        names = {report.facts.capture_set: report.facts.set_name for report in reports}
        return Done(
            batch,
            rows,
            sum(report.flows for report in reports),
            sum(report.state_bytes for report in reports) + sum(found.state_bytes for found in sets),
            sum(report.segments for report in reports),
            tuple(pair for found in sets for pair in found.unread),
            {report.facts.set_name: report.last_ns for report in reports if report.last_ns is not None},
            tuple(sorted(names[found.capture_set] for found in sets if found.is_tap)),
        )


def staging_url(settings: Settings, directory: StreamDirectory, batch: int) -> str:
    """Return the URL, like that of the output, at which the tasks of a batch write."""
    return f"{settings.output.rstrip('/')}{directory.staging(batch).removeprefix(directory.root)}"


def _records(before: Index, reports: Sequence[Report], of_batch: Iterable[Mark]) -> dict[int, SetRecord]:
    """Return the capture sets before a batch, with the batch's marks."""
    records = dict(before.sets)
    for report in reports:
        facts = report.facts
        if facts.capture_set not in records:
            records[facts.capture_set] = SetRecord(facts.set_name, (FIRST,))
    marks: dict[int, list[Mark]] = {}
    for mark in of_batch:
        marks.setdefault(mark.capture_set, []).append(mark)
    last_ns = _last_times(reports)
    for number, told in marks.items():
        record = records[number]
        records[number] = record.marked(told, last_ns.get(number, record.steps[-1].last_ns))
    return records


def _last_times(reports: Iterable[Report]) -> dict[int, int | None]:
    return {report.facts.capture_set: report.last_ns for report in reports}


def _amends(
    batch: int, records: dict[int, SetRecord], marks: Iterable[Mark], unnamed: Unnamed, names: Names
) -> _Amends:
    """Return the facts that change rows of earlier batches."""
    changed = [mark for mark in marks if mark.is_changed]
    named = named_now(unnamed, names)
    numbers = {record.set_name: number for number, record in records.items()}
    told = [(mark.capture_set, mark.since) for mark in changed]
    told += [(numbers[capture_set], since) for (capture_set, _, _), since in named.items()]
    since: dict[int, int] = {}
    for number, first in told:
        since[number] = min(first, since.get(number, first))
    roots = {mark.connection: mark.root for mark in changed}
    ids = {topic_id for _, _, topic_id in named}
    return _Amends(Amendment(min(since.values(), default=batch), roots, ids, names), since)


def _stepped(task: SetTask, report: SetReport) -> SetRecord:
    """Return a capture set after a batch."""
    record, last = task.record, task.record.steps[-1]
    last_ns = _last_times(task.reports).get(task.capture_set, last.last_ns)
    segment = task.segment if task.reports else None
    step = Step(task.batch, task.after, segment, report.segment_bytes, last_ns, report.silent)
    stepped = record.stepped(step, task.since)
    if task.reports:
        stepped = stepped._replace(
            flows=tuple(path for one in task.reports for path in one.kept),
            settled=tuple(group for one in task.reports for group in one.settled),
        )
    if not task.is_last:
        return stepped._replace(open_=None)
    return stepped._replace(open_=task.open_, judgement=task.judgement)
