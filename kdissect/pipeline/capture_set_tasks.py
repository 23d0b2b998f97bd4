"""The per-capture-set stage on Spark: sorted forwarded events to what crosses connections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import in_force, use
from kdissect.pipeline.flow_shuffle.reduction import parts_in
from kdissect.pipeline.table_files.parquet_parts import WRITTEN_DDL, WrittenFile, written_batch
from kdissect.stages.per_capture_set import run_capture_set_stage
from kdissect.stages.per_flow import FORWARDED
from kdissect.stages.topic_names import Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORWARDED_DDL = "part INT, capture_set STRING, event_order BINARY, blob BINARY"
# Rows of a batch on its way out of Python: an event is some hundred bytes to some kilobytes.
_ROWS = 4096


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
        for capture_set, rows in groupby(_rows(batches), key=itemgetter(0)):
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


def _rows(batches: Iterable[Any]) -> Iterator[tuple[str, bytes, bytes]]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("capture_set", "event_order", "blob")]
        yield from zip(*columns, strict=True)
