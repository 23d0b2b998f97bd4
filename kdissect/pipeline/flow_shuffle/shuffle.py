"""The way through Spark: files to runs, runs to the partition of their flow, sorted, to a function.

Only DataFrames are used, so that it works over Spark Connect too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from kdissect.model import faults
from kdissect.model.limits import in_force, use
from kdissect.pipeline.flow_shuffle.run import RUN_DDL, Run, to_batches
from kdissect.pipeline.flow_shuffle.run_reader import RunReader
from kdissect.pipeline.flow_shuffle.sent_to_all import facts_of, news_of
from kdissect.pipeline.inputs import Input, Inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Mapping:
    """The function of the task, for `mapInArrow`: rows hold pickled lists of inputs in the column `task`."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._limits = in_force()  # of the driver
        self._listener = faults.in_force()

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        use(self._limits)
        faults.use(self._listener)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                yield from to_batches(self.runs(pickle.loads(task)))

    def runs(self, inputs: Sequence[Input]) -> Iterator[Run]:
        """The runs of files, and what the files tell every partition."""
        for found in inputs:
            file = found.open()
            reader = RunReader(file, self.part_of)
            yield from reader.runs()
            yield from news_of(file, found.capture_set, self._parts)
            yield facts_of(file, found.name)

    def part_of(self, key: bytes) -> int:
        """The partition of a flow: the same on every machine, which Python's own hash is not."""
        return crc32(key) % self._parts


# Bytes of captures a reducing task should get: few enough for any executor's memory and disk, enough to be
# worth a task. A task takes 100 MB in some seconds.
_PART_BYTES = 128 << 20
MAX_PARTS = 10_000


def parts_for(total_bytes: int, cores: int) -> int:
    """How many partitions to shuffle into: two for each core, more where they would become too large."""
    return max(
        1,
        min(
            MAX_PARTS, max(2 * cores if total_bytes > _PART_BYTES else cores, -(-total_bytes // _PART_BYTES))
        ),
    )


def through_spark(
    spark: SparkSession,
    inputs: Inputs,
    parts: int,
    function: Callable[[Iterable[Any]], Iterator[Any]],
    schema: str,
) -> DataFrame:
    """What `function` makes of the sorted runs of each partition; `schema` is that of its batches, as DDL."""
    tasks = [(number, pickle.dumps(files)) for number, files in enumerate(inputs.tasks())]
    frame = spark.createDataFrame(tasks, "number INT, task BINARY")
    runs = frame.repartitionById(max(1, len(tasks)), "number").mapInArrow(Mapping(parts), RUN_DDL)
    sorted_runs = runs.repartitionById(parts, "part").sortWithinPartitions("key", "order_ns", "ref")
    return sorted_runs.mapInArrow(function, schema)
