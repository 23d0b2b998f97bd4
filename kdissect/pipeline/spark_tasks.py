"""A function of Python over some things, each as one task of Spark.

It uses only DataFrames, so that it works over Spark Connect too. The function carries the work of each task,
by the number of its partition, so there is no shuffle.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULT_DDL = "result BINARY"
Thing = TypeVar("Thing")
Result = TypeVar("Result")


class Tasks:
    """The function for `mapInArrow`: rows hold the numbers of things in the column `id`."""

    def __init__(self, function: Callable[[Any], Any], things: Sequence[Any]) -> None:
        self._function = function
        self._things = things

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                result = pickle.dumps(self._function(self._things[number]))
                yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], names=["result"])


def by_tasks(
    spark: SparkSession, function: Callable[[Thing], Result], things: Sequence[Thing]
) -> list[Result]:
    """Call a function on things in tasks. Return its results. The function, the things and the results are
    pickled.
    """
    if not things:
        return []
    numbers = spark.range(0, len(things), 1, len(things))
    made = numbers.mapInArrow(Tasks(function, things), RESULT_DDL)
    return [pickle.loads(row[0]) for row in made.collect()]
