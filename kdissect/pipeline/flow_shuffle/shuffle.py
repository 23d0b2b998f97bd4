"""The way through Spark: files to runs, runs to the partition of their flow, sorted, to a function.

Only DataFrames are used, so that it works over Spark Connect too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kdissect.pipeline.flow_shuffle.arrow_runs import RUN_DDL
from kdissect.pipeline.flow_shuffle.mapping import Mapping
from kdissect.pipeline.inputs import Inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Bytes of captures a reducing task should get: few enough for any executor's memory and disk, enough to be
# worth a task. A task takes 100 MB in some seconds.
PART_BYTES = 128 << 20
MAX_PARTS = 10_000


def parts_for(total_bytes: int, cores: int) -> int:
    """How many partitions to shuffle into: two for each core, more where they would become too large."""
    return max(
        1,
        min(MAX_PARTS, max(2 * cores if total_bytes > PART_BYTES else cores, -(-total_bytes // PART_BYTES))),
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
