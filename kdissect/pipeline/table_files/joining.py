"""Runs `compaction` where it is faster: here for a few bytes, in tasks for many."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kdissect.capture.filesystems import filesystem_of
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.pipeline.table_files.small_files import Group, join
from kdissect.pipeline.table_files.written import WRITTEN_DDL, written_batch
from kdissect.stages.topic_names import Names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# pyarrow joins 100 MB of small files in a second: less is not worth a job.
HERE_BYTES = 64 << 20


class Joining:
    """The function of a task, for `mapInArrow`: rows hold pickled groups in the column `task`."""

    def __init__(self, staging: str, names: Names) -> None:
        self._staging = staging
        self._names = names

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        filesystem, root = filesystem_of(self._staging)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                yield written_batch([join(filesystem, root, pickle.loads(task), self._names)])


def joined(spark: SparkSession, groups: Sequence[Group], staging: str, names: Names) -> list[WrittenFile]:
    """The files that groups became."""
    if sum(group.bytes for group in groups) <= HERE_BYTES:
        filesystem, root = filesystem_of(staging)
        return [join(filesystem, root, group, names) for group in groups]
    tasks = [(number, pickle.dumps(group)) for number, group in enumerate(groups)]
    frame = spark.createDataFrame(tasks, "number INT, task BINARY").repartitionById(len(tasks), "number")
    return [WrittenFile(*row) for row in frame.mapInArrow(Joining(staging, names), WRITTEN_DDL).collect()]
