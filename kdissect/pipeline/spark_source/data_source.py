"""`spark.read.format("kdissect")`: captures as tables, without a shuffle.

    spark.dataSource.register(KdissectDataSource)
    spark.read.format("kdissect").option("table", "exchanges").load("captures/")

A Python data source gives its partitions no way to exchange rows. `packets`, `segments` and `files` need
none: they are read file by file. The other tables need all files of a capture set (one capture point): a
partition reads them all and analyses its share of the flows, so that connections that cross files are
whole. Tables of what crosses connections (findings, groups ...) are made by one partition. That is exact, and
right for what one machine reads in minutes; `kdissect pipeline run` shuffles instead.

Rules:
- Nothing in a capture makes a job fail: what cannot be read stands in the table `files`.
- The schema is that of docs/tables.md; filters on its columns are applied before a row reaches Spark, those
  on `capture_set` and `file` before a file is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.spark import spark_ddl
from kdissect.model.limits import use
from kdissect.pipeline.inputs import Input, Inputs, find
from kdissect.pipeline.spark_source.pushed_filters import can_say, expression, file_test
from kdissect.pipeline.spark_source.source_options import SourceOptions
from kdissect.pipeline.spark_source.source_tables import BY_FILE, BY_FLOW, Share, batches_of, table_of

# Bytes of a capture set that one partition should analyse.
_SHARD_BYTES = 256 << 20
_MAX_SHARDS = 64  # each reads the whole capture set


class KdissectDataSource(DataSource):
    """The source; see the module. Options are those of `SourceOptions`."""

    @classmethod
    def name(cls) -> str:
        """`kdissect`."""
        return "kdissect"

    def schema(self) -> str:
        """Columns of the table that was chosen."""
        return spark_ddl(table_of(SourceOptions.of(self.options).table))

    def reader(self, schema: Any) -> KdissectReader:
        """A reader of the whole table."""
        return KdissectReader(SourceOptions.of(self.options))


class KdissectReader(DataSourceReader):
    """Reads a table. Raises nothing for what captures hold."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take the filters that an Arrow expression can say; all others are given back."""
        schema = arrow_schema(table_of(self._options.table))
        for found in filters:
            if can_say(found, schema):
                self._filters.append(found)
            else:
                yield found

    def partitions(self) -> Sequence[InputPartition]:
        """The shares of all tasks; an empty one where nothing is left, as Spark wants at least one."""
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
        """Record batches of a share."""
        assert isinstance(partition, Share)
        options = self._options
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
