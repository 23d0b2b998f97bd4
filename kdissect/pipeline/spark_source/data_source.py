"""`spark.read.format("kdissect")`: captures as tables, without a shuffle.

    spark.dataSource.register(KdissectDataSource)
    spark.read.format("kdissect").option("table", "exchanges").load("captures/")

The partitions of a Python data source cannot exchange rows. `packets`, `segments` and `files` do not need
that: they are read file by file. The other tables need all files of a capture set (one capture point): a
partition reads them all and analyses its share of the flows, so that connections that cross files are whole.
One partition makes the tables across connections (findings, groups ...). That is exact, and right for inputs
that one machine reads in minutes. Tasks of `kdissect pipeline run` share their facts.

Rules:
- The content of a capture never makes a job fail: the table `files` lists the errors.
- The schema is that of docs/tables.md. Filters on its columns are applied before a row reaches Spark, and
  filters on `capture_set` and `file` before a file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.spark import spark_ddl
from kdissect.model.limits import use
from kdissect.pipeline.inputs import Input, Inputs, find
from kdissect.pipeline.spark_source.source_options import SourceOptions
from kdissect.pipeline.spark_source.source_tables import BY_FILE, BY_FLOW, Share, batches_of, table_of
from kdissect.pipeline.worker_packages import require_here
from kdissect.serdes.decoders import installed_modules

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter


# Bytes of a capture set that one partition should analyse.
_SHARD_BYTES = 256 << 20
_MAX_SHARDS = 64  # each reads the whole capture set
# Columns whose filters select files: all rows of a file have the same value.
_OF_FILES = ("capture_set", "file")
_COMPARISONS = {
    "EqualTo": "__eq__",
    "GreaterThan": "__gt__",
    "GreaterThanOrEqual": "__ge__",
    "LessThan": "__lt__",
    "LessThanOrEqual": "__le__",
}
_TEXT = {
    "StringContains": "match_substring",
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
}


class KdissectDataSource(DataSource):
    """The data source of the module. Its options are the fields of `SourceOptions`."""

    @classmethod
    def name(cls) -> str:
        """Return `kdissect`."""
        return "kdissect"

    def schema(self) -> str:
        """Return columns of the table that was chosen."""
        return spark_ddl(table_of(SourceOptions.of(self.options).table))

    def reader(self, schema: Any) -> KdissectReader:
        """Return a reader of the whole table."""
        return KdissectReader(SourceOptions.of(self.options))


class KdissectReader(DataSourceReader):
    """Reader of a table. The content of captures raises no exception.

    It is made on the driver, and reads on executors.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._filters: list[Filter] = []
        self._modules = installed_modules() if options.schemas else ()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take the filters that an Arrow expression can express, and return all other filters."""
        schema = arrow_schema(table_of(self._options.table))
        for found in filters:
            if can_say(found, schema):
                self._filters.append(found)
            else:
                yield found

    def partitions(self) -> Sequence[InputPartition]:
        """Return the shares of all tasks. If no file is left, return an empty share, as Spark wants at least
        one.
        """
        inputs = find(self._options.paths, self._options.recursive)
        keeps = file_test(self._filters)
        if self._options.table in BY_FILE:
            kept = [
                file
                for file in inputs.files
                if keeps({"capture_set": inputs.capture_sets[file.capture_set], "file": file.name})
            ]
            return [Share([file]) for file in kept] or [Share([])]
        if self._options.table not in BY_FLOW:
            return [Share(inputs.files)]
        return self._shares(inputs, [keeps({"capture_set": name}) for name in inputs.capture_sets])

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of a share. Raises ModuleNotFoundError if a package is missing here."""
        assert isinstance(partition, Share)
        options = self._options
        require_here(self._modules, (options.table,))
        use(options.limits)
        wanted = self._wanted()
        for batch in batches_of(partition, options):
            yield batch if wanted is None else batch.filter(wanted)

    def _shares(self, inputs: Inputs, keeps: list[bool]) -> list[InputPartition]:
        shares: list[InputPartition] = []
        for number, is_kept in enumerate(keeps):
            if is_kept:
                files = [file for file in inputs.files if file.capture_set == number]
                others = [file.path for file in inputs.files if file.capture_set != number]
                count = self._options.shards or _shards_for(files)
                shares += [Share(files, others, shard, count) for shard in range(count)]
        return shares or [Share([])]

    def _wanted(self) -> Any:
        wanted = None
        for found in self._filters:
            one = expression(found)
            wanted = one if wanted is None else wanted & one
        return wanted


def _shards_for(files: Sequence[Input]) -> int:
    size = sum(file.size or 0 for file in files)
    return max(1, min(_MAX_SHARDS, -(-size // _SHARD_BYTES)))


# Filters that Spark leaves to the source, as an Arrow expression, and the files they leave out.
def expression(found: Filter) -> Any:
    """Return a filter as a `pyarrow.compute` expression, or None for one that is left to Spark."""

    name = type(found).__name__
    if name == "Not":
        inner = expression(found.child)  # type: ignore[attr-defined]
        return None if inner is None else ~inner
    column = pc.field(*getattr(found, "attribute", ()))
    if name in _COMPARISONS:
        return getattr(column, _COMPARISONS[name])(_scalar(found))
    if name in _TEXT:
        return getattr(pc, _TEXT[name])(column, found.value)  # type: ignore[attr-defined]
    if name == "In":
        return column.isin(list(found.value))  # type: ignore[attr-defined]
    if name in ("IsNull", "IsNotNull"):
        return column.is_null() if name == "IsNull" else ~column.is_null()
    return None


def can_say(found: Filter, schema: Any) -> bool:
    """Return whether Arrow can apply a filter to rows of a schema.

    It is tried on no rows at all: a failure later would end the job.
    """

    try:
        wanted = expression(found)
        if wanted is None:
            return False
        schema.empty_table().filter(wanted)
    except (pa.ArrowException, TypeError):  # a value that Arrow has no type for, or not that of the column
        return False
    return True


def file_test(filters: Iterable[Filter]) -> Callable[[dict[str, str]], bool]:
    """Return a test whether a file can hold rows that pass, by its `_OF_FILES`."""
    allowed: dict[str, set[Any]] = {}
    for found in filters:
        column = ".".join(getattr(found, "attribute", ()))
        if column in _OF_FILES and type(found).__name__ in ("EqualTo", "In"):
            value = found.value  # type: ignore[attr-defined]
            values = set(value) if isinstance(value, (tuple, list)) else {value}
            allowed[column] = allowed.get(column, values) & values
    return lambda file: all(file[column] in values for column, values in allowed.items() if column in file)


def _scalar(found: Any) -> Any:
    return pc.scalar(found.value)
