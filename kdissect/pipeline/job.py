"""One run of the pipeline: inputs to tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.shards import Shard
from kdissect.engine.taps.copies import NO_COPIES, Copies
from kdissect.engine.unread import ConnectionTally
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.pipeline.inputs import Inputs
from kdissect.pipeline.job_progress import ANALYSING, COMPARING, JOINING, begin
from kdissect.pipeline.share_task import Known, Result, ShareTask
from kdissect.pipeline.shares import Task, tasks_of
from kdissect.pipeline.spark_tasks import by_tasks
from kdissect.pipeline.table_files.commit import OutputDirectory
from kdissect.pipeline.table_files.delta_logs import DeltaLogs
from kdissect.pipeline.table_files.forwarded_files import STAGED, judgements_in, names_in
from kdissect.pipeline.table_files.parquet_parts import WrittenFile, parts_in
from kdissect.pipeline.table_files.small_files import joined, plan
from kdissect.pipeline.tap_marks import FindCopies, Listed, ListEnds, MarkTaps, copies_to_find, shared_ends
from kdissect.pipeline.task_setup import Setup
from kdissect.query.fields.field_table import FIELDS, table_named
from kdissect.session.detection.known_brokers import End
from kdissect.session.info import ConnectionKind
from kdissect.stages.per_flow import JUDGEMENT, OF_JUDGES
from kdissect.stages.rows.file_rows import FileRows
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.rows.table_rows import TableRows, batch_of
from kdissect.stages.topic_id_names import WITH_NAMES, Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Errors are rows of this table: a run without it could hide what it did not read.
ALWAYS = "files"
_OF_TALLY = ["kind", "same_as", "probably_same_as", "tls"]
CUT_CAPTURE = str(AnomalyKind.CUT_CAPTURE)
# Tables whose rows ask for the names of topic ids.
WITH_TOPICS = WITH_NAMES | {FIELDS, "topics", "groups", "producers", "transactions", "causes", "personal"}
OF_VALUES = OF_JUDGES | {JUDGEMENT}
"""Tables whose rows ask for these names, too, if rules judge keys and values by their schemas."""
# Tasks that look for what was captured twice: each reads all sets that may have some of it.
MAX_MARKING = 4


class MissingPackagesError(Exception):
    """Packages that a worker lacks and a table needs. Its text says which, and where."""


class Job(NamedTuple):
    """A run: its inputs and its outputs. `parts` 0 means by size and cores. `topic_ids` are names known
    before. `is_delta`: the tables are Delta tables.
    """

    inputs: Inputs
    setup: Setup
    output: str
    tables: frozenset[str]
    partition_by: tuple[str, ...] = ()
    parts: int = 0
    overwrite: bool = False
    topic_ids: Mapping[bytes, str] | None = None
    is_delta: bool = False


class Unread(NamedTuple):
    """A file that could not be read, or not beyond a point."""

    file: str
    why: str


class Summary(NamedTuple):
    """The result of a run: the files written, and the input that it could not read. No file is written if no
    input could be opened and there are tables already.

    `unread` are files that could not be read. `connections` covers connections if the table of connections
    exists. `uncompiled` are hosts whose tasks had no native engine.
    """

    files: tuple[WrittenFile, ...]
    unread: tuple[Unread, ...]
    connections: ConnectionTally
    uncompiled: frozenset[str] = frozenset()

    @property
    def tables(self) -> dict[str, tuple[int, int, int]]:
        """(files, rows, bytes) by table."""
        found: dict[str, tuple[int, int, int]] = {}
        for file in self.files:
            count, rows, size = found.get(file.table, (0, 0, 0))
            found[file.table] = count + 1, rows + file.rows, size + file.bytes
        return found


def run(spark: SparkSession, job: Job) -> Summary:
    """Run a job. Raises OutputExistsError, MissingPackagesError, OSError, and Spark's exceptions if the
    cluster fails.

    The content of a capture never makes it fail.
    """
    filesystem, root = filesystem_of(job.output)
    directory = OutputDirectory(filesystem, root)
    logs: DeltaLogs | None = None
    if job.is_delta:
        tables = [table_named(table, job.setup.fields) for table in job.tables | {ALWAYS}]
        logs = DeltaLogs(job.output, tables, job.partition_by)
    before = directory.begin(job.overwrite, logs)
    name = uuid4().hex[:12]
    with directory.staged(name):
        files, hosts = _written(spark, job, f"{job.output.rstrip('/')}/_staging/{name}")
        staging = f"{directory.staging_of(name)}/"
        told = list(_rows(filesystem, staging, files, ALWAYS, ["file", "format", "error", "anomalies"]))
        unread = tuple(unread_of(told))
        if before is not None and all(row["format"] is None for row in told):
            return Summary((), unread, ConnectionTally(), hosts)
        connections = tally_of(_rows(filesystem, staging, files, "connections", _OF_TALLY))
        if before is not None:
            directory.clear(before)
        directory.commit(name, files, {"inputs": [file.name for file in job.inputs.files]}, logs)
    return Summary(tuple(files), unread, connections, hosts)


def cores(spark: SparkSession) -> int:
    """Return the number of tasks that run at a time, 2 if the cluster does not report it (Spark Connect)."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:
        return 2


def _rows(
    filesystem: Any, folder: str, files: list[WrittenFile], table: str, columns: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield some columns of a table from its files, because there may be many rows."""
    for file in files:
        if file.table == table:
            with pq.ParquetFile(f"{folder}{file.path}", filesystem=filesystem) as opened:
                for batch in opened.iter_batches(columns=columns):
                    yield from batch.to_pylist()


def unread_of(files: Iterable[dict[str, Any]]) -> Iterator[Unread]:
    """Yield the errors in rows of the table of files, and the ends inside a packet."""
    for row in files:
        cuts = [found["detail"] for found in row["anomalies"] or () if found["kind"] == CUT_CAPTURE]
        for why in [row["error"]] if row["error"] is not None else cuts[-1:]:
            yield Unread(row["file"], why)


def tally_of(connections: Iterable[dict[str, Any]]) -> ConnectionTally:
    """Count what could be read of connections, by their rows."""
    tally = ConnectionTally()
    for row in connections:
        if row["same_as"] is not None:
            continue
        if row["probably_same_as"] is not None:
            tally.tapped += 1
        else:
            tally.count(ConnectionKind(row["kind"]), (row["tls"] or {}).get("why"))
    return tally


def _written(spark: SparkSession, job: Job, staging: str) -> tuple[list[WrittenFile], frozenset[str]]:
    """Return all files of all tables, staged, and the hosts without the native engine."""
    found = _Analysis(spark, job, staging).results()
    files = [file for result in found for file in result.written]
    files += _of_files(job, staging, found)
    files += _judged(job, staging, files)
    files += _empty(job, staging, files)
    stay, groups = plan(file for file in files if file.table not in STAGED)
    begin(spark, JOINING)
    hosts = frozenset(result.uncompiled for result in found if result.uncompiled is not None)
    return stay + joined(spark, groups, staging, Names()), hosts


class _Analysis:
    """All tasks of a run, and a second run of the tasks that lacked facts from other tasks."""

    def __init__(self, spark: SparkSession, job: Job, staging: str) -> None:
        self._spark = spark
        self._staging = staging
        self._wanted = job.parts or cores(spark)
        self._known = TopicNames(job.topic_ids)
        self._tasks = tasks_of(job.inputs, job.tables | {ALWAYS}, self._wanted)
        self._marks: dict[int, Copies] = {}
        self._setup = job.setup
        self._job = job

    def results(self) -> list[Result]:
        """Return the results of the tasks."""
        if len(self._job.inputs.capture_sets) > 1:
            self._compare_sets()
        begin(self._spark, ANALYSING)
        tasks = dict(enumerate(self._tasks))
        found = self._ran(tasks, self._known)
        late = _late_brokers(found.values())
        if late:  # some connections are Kafka because of others
            tasks_again = {number: tasks[number] for number in tasks if found[number].asked & late}
            found |= self._ran(tasks_again, self._known, late)
        return list(self._named(found, late).values())

    def _named(self, found: dict[int, Result], late: frozenset[End]) -> dict[int, Result]:
        """Run tasks again that had no name for a topic id that another task knows. Return all results."""
        filesystem, root = filesystem_of(self._staging)
        files = [file for result in found.values() for file in result.written]
        names = names_in(filesystem, root, files, self._known).topics
        with_topics = WITH_TOPICS if self._setup.schemas is None else WITH_TOPICS | OF_VALUES
        again: dict[int, Task] = {}
        for number, result in found.items():
            if result.nameless is None or any(names.name_at(*place) is not None for place in result.nameless):
                named = (share._replace(tables=share.tables & with_topics) for share in self._tasks[number])
                again[number] = tuple(share for share in named if share.tables)
        for number, result in self._ran(again, names, late).items():
            before = found[number]
            kept = (file for file in before.written if file.table not in with_topics)
            made = (file for file in result.written if file.table in with_topics)
            found[number] = before._replace(written=(*kept, *made))
        return found

    def _compare_sets(self) -> None:
        """Learn which connections several capture sets have."""
        begin(self._spark, COMPARING)
        sets = range(len(self._job.inputs.capture_sets))
        dealt = [sets[start :: self._wanted] for start in range(min(self._wanted, len(sets)))]
        found = by_tasks(self._spark, ListEnds(self._setup), dealt)
        listed = list(chain.from_iterable(found))
        secrets = [data for one in sorted(listed, key=itemgetter(0)) for data in one.secrets]
        self._setup = self._setup.with_secrets(secrets)
        shared = shared_ends(listed)
        if shared.sets:
            copies = self._copies(listed)
            count = min(self._wanted, MAX_MARKING)
            shards = [Shard(number, count) for number in range(count)]
            numbers = {name: number for number, name in enumerate(self._job.inputs.capture_sets)}
            for of_shard in by_tasks(self._spark, MarkTaps(self._setup, shared, copies), shards):
                for name, marks in of_shard.items():
                    known = self._marks.setdefault(numbers[name], Copies({}, {}, {}))
                    known.update(marks)

    def _copies(self, listed: list[Listed]) -> Copies:
        """Find the connections of taps that other sets have as well."""
        sets, taps, ends = copies_to_find(listed)
        if not taps or len(sets) < 2:
            return NO_COPIES
        (found,) = by_tasks(self._spark, FindCopies(self._setup, taps, ends), [sets])
        return found

    def _ran(
        self, tasks: Mapping[int, Task], names: TopicNames, brokers: frozenset[End] = frozenset()
    ) -> dict[int, Result]:
        """Run tasks. Return their results by number."""
        rows = []
        for number, task in tasks.items():
            sets = {share.capture_set for share in task}
            marks = Copies({}, {}, {})
            for one in sets:
                marks.update(self._marks.get(one, NO_COPIES))
            rows.append((number, task, Known(names, brokers, marks)))
        function = ShareTask(self._setup, self._staging, self._job.partition_by)
        found = {result.number: result for result in by_tasks(self._spark, function, rows)}
        lacking = [result.lacking for result in found.values() if result.lacking is not None]
        if lacking:
            raise MissingPackagesError(lacking[0])
        return found


def _late_brokers(results: Iterable[Result]) -> frozenset[End]:
    """Return the ends that a task asked for and another task proved to be brokers."""
    proven: set[End] = set()
    asked: set[End] = set()
    for result in results:
        proven |= result.proven
        asked |= result.asked
    return frozenset(proven & asked)


def _of_files(job: Job, staging: str, results: Iterable[Result]) -> list[WrittenFile]:
    """Write the tables about files. An error that any task found in a file counts."""
    told: dict[int, FileRows] = {}
    for result in results:
        for number, file in result.files.items():
            if number not in told or (told[number].file["error"] is None and file.file["error"] is not None):
                told[number] = file
    files = [told[number] for number in sorted(told)]
    rows = TableRows((job.tables | {ALWAYS}) & {ALWAYS, "anomalies"})
    for file in files:
        rows.add(ALWAYS, file.file)
        if "anomalies" in job.tables:
            for row in file.anomalies:
                rows.add("anomalies", row)
    return _staged(job, staging, rows)


def _judged(job: Job, staging: str, files: list[WrittenFile]) -> list[WrittenFile]:
    """Write the tables of all judges together."""
    wanted = job.tables & OF_JUDGES
    if not wanted:
        return []
    filesystem, root = filesystem_of(staging)
    judgement = judgements_in(filesystem, root, files)
    made = {"findings": finding_rows(judgement, job.setup.file_names), "coverage": coverage_rows(judgement)}
    rows = TableRows(wanted)
    for table in wanted:
        for row in made[table]:
            rows.add(table, row)
    return _staged(job, staging, rows)


def _staged(job: Job, staging: str, rows: TableRows) -> list[WrittenFile]:
    """Write rows that the driver made to files."""
    parts = parts_in(staging, job.partition_by)
    for table, batch in rows.close():
        parts.add(table, batch)
    return parts.close()


def _empty(job: Job, staging: str, files: list[WrittenFile]) -> list[WrittenFile]:
    """Write a file for each table without rows, so that a query finds its columns."""
    parts = parts_in(staging, job.partition_by)
    for table in sorted((job.tables | {ALWAYS}) - {file.table for file in files}):
        parts.add(table, batch_of(table_named(table, job.setup.fields), []))
    return parts.close()
