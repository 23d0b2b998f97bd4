"""One run of the pipeline: inputs to tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.unread import ConnectionTally
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import in_force, use
from kdissect.pipeline.flow_shuffle.reduction import Reduction, parts_in
from kdissect.pipeline.flow_shuffle.shuffle import parts_for, through_spark
from kdissect.pipeline.inputs import Inputs
from kdissect.pipeline.job_progress import FIRST, JOINING, SECOND, begin
from kdissect.pipeline.table_files.commit import OutputDirectory
from kdissect.pipeline.table_files.forwarded_files import STAGED, judgements_in, late_brokers, names_in
from kdissect.pipeline.table_files.parquet_parts import WRITTEN_DDL, WrittenFile, written_batch
from kdissect.pipeline.table_files.small_files import joined, plan
from kdissect.pipeline.task_setup import Setup
from kdissect.session.info import ConnectionKind
from kdissect.stages.per_capture_set import run_capture_set_stage
from kdissect.stages.per_flow import FORWARDED, OF_JUDGES
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.rows.table_rows import TableRows, batch_of
from kdissect.stages.topic_id_names import Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Errors are rows of this table: a run without it could hide what it did not read.
ALWAYS = "files"
CUT_CAPTURE = str(AnomalyKind.CUT_CAPTURE)
_FORWARDED_DDL = "part INT, capture_set STRING, event_order BINARY, blob BINARY"
# Rows of a batch on its way out of Python: an event is some hundred bytes to some kilobytes.
_ROWS = 4096


class OutputExistsError(Exception):
    """There are tables already, and nobody said to replace them."""


class Job(NamedTuple):
    """What to make of which inputs. `parts` 0: by size and cores; `topic_ids` are names known before."""

    inputs: Inputs
    setup: Setup
    output: str
    tables: frozenset[str]
    partition_by: tuple[str, ...] = ("day", "broker")
    parts: int = 0
    overwrite: bool = False
    topic_ids: Mapping[bytes, str] | None = None


class Unread(NamedTuple):
    """A file that could not be read, or not beyond a point."""

    file: str
    why: str


class Summary(NamedTuple):
    """What a run wrote, nothing where no input could be opened and tables are there; and what it could
    not read: files, and connections as far as the table of connections is made.
    """

    files: tuple[WrittenFile, ...]
    unread: tuple[Unread, ...]
    connections: ConnectionTally

    @property
    def tables(self) -> dict[str, tuple[int, int, int]]:
        """(files, rows, bytes) by table."""
        found: dict[str, tuple[int, int, int]] = {}
        for file in self.files:
            count, rows, size = found.get(file.table, (0, 0, 0))
            found[file.table] = count + 1, rows + file.rows, size + file.bytes
        return found


def run(spark: SparkSession, job: Job) -> Summary:
    """Run a job. Raises OutputExistsError, OSError, and what Spark raises where the cluster fails.

    Nothing that stands in a capture makes it fail.
    """
    filesystem, root = filesystem_of(job.output)
    directory = OutputDirectory(filesystem, root)
    directory.undo_killed()
    before = directory.manifest()
    if before is not None and not job.overwrite:
        raise OutputExistsError(job.output)
    name = uuid4().hex[:12]
    with directory.staged(name):
        files = _written(spark, job, f"{job.output.rstrip('/')}/_staging/{name}")
        staging = f"{directory.staging_of(name)}/"
        told = list(_rows(filesystem, staging, files, ALWAYS, ["file", "format", "error", "anomalies"]))
        unread = tuple(unread_of(told))
        if before is not None and all(row["format"] is None for row in told):
            return Summary((), unread, ConnectionTally())
        connections = tally_of(_rows(filesystem, staging, files, "connections", ["kind", "same_as", "tls"]))
        if before is not None:
            directory.clear(before)
        directory.commit(name, files, {"inputs": [file.name for file in job.inputs.files]})
    return Summary(tuple(files), unread, connections)


def cores(spark: SparkSession) -> int:
    """Tasks that run at a time; 2 where the cluster does not say (Spark Connect)."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:
        return 2


def _rows(
    filesystem: Any, folder: str, files: list[WrittenFile], table: str, columns: list[str]
) -> Iterator[dict[str, Any]]:
    """Some columns of a table; pulled from its files, as there may be many rows."""
    for file in files:
        if file.table == table:
            with pq.ParquetFile(f"{folder}{file.path}", filesystem=filesystem) as opened:
                for batch in opened.iter_batches(columns=columns):
                    yield from batch.to_pylist()


def unread_of(files: Iterable[dict[str, Any]]) -> Iterator[Unread]:
    """What rows of the table of files say was not read: errors, and ends inside a packet."""
    for row in files:
        cuts = [found["detail"] for found in row["anomalies"] or () if found["kind"] == CUT_CAPTURE]
        for why in [row["error"]] if row["error"] is not None else cuts[-1:]:
            yield Unread(row["file"], why)


def tally_of(connections: Iterable[dict[str, Any]]) -> ConnectionTally:
    """What could be read of connections, by their rows."""
    tally = ConnectionTally()
    for row in connections:
        if row["same_as"] is None:
            tally.count(ConnectionKind(row["kind"]), (row["tls"] or {}).get("why"))
    return tally


def _written(spark: SparkSession, job: Job, staging: str) -> list[WrittenFile]:
    """All files of all tables, staged."""
    filesystem, root = filesystem_of(staging)
    files = _reduced(spark, job, staging)
    late = late_brokers(filesystem, root, files)
    if late:  # some connections are Kafka because of others: what was made without knowing stays behind
        files = _reduced(spark, job._replace(setup=job.setup._replace(brokers=late)), staging)
    names = names_in(filesystem, root, files, TopicNames(job.topic_ids))
    crossing = CaptureSetTask(staging, job.tables, job.partition_by, names)
    begin(spark, SECOND)
    files += run_capture_set_tasks(spark, files, staging, job.inputs.capture_sets, crossing)
    files += _judged(job, staging, files)
    files += _empty(job, staging, files)
    stay, groups = plan(file for file in files if file.table not in STAGED)
    begin(spark, JOINING)
    return stay + joined(spark, groups, staging, names)


def _reduced(spark: SparkSession, job: Job, staging: str) -> list[WrittenFile]:
    """What the per-flow stage writes."""
    parts = job.parts or parts_for(job.inputs.total_bytes, cores(spark))
    reduction = Reduction(job.setup, staging, job.tables | {ALWAYS}, job.partition_by)
    begin(spark, FIRST)
    rows: list[Any] = through_spark(spark, job.inputs, parts, reduction, WRITTEN_DDL).collect()
    return [WrittenFile(*row) for row in rows]


def _empty(job: Job, staging: str, files: list[WrittenFile]) -> list[WrittenFile]:
    """A file for each table without rows: who queries it finds its columns."""
    parts = parts_in(staging, job.partition_by)
    for table in (job.tables | {ALWAYS}) - {file.table for file in files}:
        parts.add(table, batch_of(table, []))
    return parts.close()


def _judged(job: Job, staging: str, files: list[WrittenFile]) -> list[WrittenFile]:
    """The tables of what all judges together came to."""
    wanted = job.tables & OF_JUDGES
    if not wanted:
        return []
    filesystem, root = filesystem_of(staging)
    judgement = judgements_in(filesystem, root, files)
    made = {"findings": finding_rows(judgement, job.setup.files), "coverage": coverage_rows(judgement)}
    rows = TableRows(wanted)
    for table in wanted:
        for row in made[table]:
            rows.add(table, row)
    parts = parts_in(staging, job.partition_by)
    for table, batch in rows.close():
        parts.add(table, batch)
    return parts.close()


# The per-capture-set stage on Spark: sorted forwarded events to what crosses connections.
class Reading:
    """Staged files of forwarded events to rows with the number of their capture set."""

    def __init__(self, staging: str, capture_sets: Sequence[str]) -> None:
        self._staging = staging
        self._numbers = {name: number for number, name in enumerate(capture_sets)}

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        filesystem, root = filesystem_of(self._staging)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                with pq.ParquetFile(f"{root}/{task.decode()}", filesystem=filesystem) as opened:
                    for rows in opened.iter_batches(_ROWS):
                        numbers = [self._numbers[name] for name in rows.column("capture_set").to_pylist()]
                        yield rows.add_column(0, "part", pa.array(numbers, pa.int32()))


class CaptureSetTask:
    """The function of the task: sorted events of capture sets to tables and judgements."""

    def __init__(
        self, staging: str, tables: frozenset[str], partition_by: tuple[str, ...], names: Names
    ) -> None:
        self._staging = staging
        self._tables = tables
        self._partition_by = partition_by
        self._names = names
        self._limits = in_force()  # of the driver

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        use(self._limits)
        parts = parts_in(self._staging, self._partition_by)
        for capture_set, rows in groupby(_table_rows(batches), key=itemgetter(0)):
            events = ((order, blob) for _, order, blob in rows)
            for name, batch in run_capture_set_stage(
                capture_set, events, self._tables, names=self._names.topics
            ):
                parts.add(name, batch)
        yield written_batch(parts.close())


def run_capture_set_tasks(
    spark: SparkSession,
    files: Sequence[WrittenFile],
    staging: str,
    capture_sets: Sequence[str],
    function: CaptureSetTask,
) -> list[WrittenFile]:
    """Run it over the staged files; gives what it wrote."""
    tasks = [(number, file.path.encode()) for number, file in enumerate(files) if file.table == FORWARDED]
    if not tasks:
        return []
    frame = spark.createDataFrame(tasks, "number INT, task BINARY").repartitionById(len(tasks), "number")
    forwarded = frame.mapInArrow(Reading(staging, capture_sets), _FORWARDED_DDL)
    by_set = forwarded.repartitionById(len(capture_sets), "part")
    in_order = by_set.sortWithinPartitions("capture_set", "event_order")
    return [WrittenFile(*row) for row in in_order.mapInArrow(function, WRITTEN_DDL).collect()]


def _table_rows(batches: Iterable[Any]) -> Iterator[tuple[str, bytes, bytes]]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("capture_set", "event_order", "blob")]
        yield from zip(*columns, strict=True)
