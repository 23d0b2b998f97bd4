"""Tables of the data source from files that one task reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pyspark.sql.datasource import InputPartition

from kdissect.api import Dissection
from kdissect.causes.cause_stage import CauseStage
from kdissect.engine.records.record_values import values_by
from kdissect.engine.shards import Shard
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.pipeline.inputs import Input
from kdissect.pipeline.spark_source.packet_rows import PACKETS, SEGMENTS, packet_batches, segment_batches
from kdissect.pipeline.spark_source.source_options import SourceOptions
from kdissect.serdes.schema_files import load_schemas
from kdissect.serdes.schemas import Schemas
from kdissect.stages.one_process import produce
from kdissect.stages.rows.file_rows import file_row
from kdissect.stages.rows.table_rows import batch_of


class Share(InputPartition):
    """The input of one task: `files`, with the flows whose number is `shard` modulo `shards`.

    `others` are the paths of the files that other tasks read.
    """

    def __init__(
        self, files: Sequence[Input], others: Sequence[str] = (), shard: int = 0, shards: int = 1
    ) -> None:
        super().__init__(None)
        self.files = tuple(files)
        self.others = tuple(others)
        self.shard = shard
        self.shards = shards

    @property
    def is_whole(self) -> bool:
        """Whether this is all there is."""
        return self.shards == 1 and not self.others


BY_FILE = frozenset({"packets", "segments", "files"})
BY_FLOW = frozenset({"connections", "exchanges", "topic_partitions", "batches", "records"})
"""Tables that shares of flows make, each its own. The other tables need several connections."""
_SOURCES = {"packets": packet_batches, "segments": segment_batches}


def table_of(name: str) -> Table:
    """Return a table by its name. Raises ValueError."""
    found = {"packets": PACKETS, "segments": SEGMENTS} | TABLES
    if name not in found:
        raise ValueError(f"no table {name!r}; there are {', '.join(found)}")
    return found[name]


def batches_of(share: Share, options: SourceOptions) -> Iterator[Any]:
    """Record batches of the table that was chosen."""
    if not share.files:
        return iter(())
    if options.table in BY_FILE:
        return _of_files(share, options.table)
    schemas = _loaded(options.schemas) if options.schemas else None
    made = produce(
        _dissection(share, options), frozenset({options.table}), causes=CauseStage, values=values_by(schemas)
    )
    return (batch for _, batch in made)


@lru_cache(1)
def _loaded(paths: tuple[str, ...]) -> Schemas:
    """Return schemas, read once in a process. Raises SchemaError."""
    return load_schemas(paths)


def _of_files(share: Share, table: str) -> Iterator[Any]:
    for found in share.files:
        file = found.open()
        if table in _SOURCES:
            yield from _SOURCES[table](file, found.name)
            continue
        for _ in file.batches():
            pass
        yield batch_of(TABLES["files"], [file_row(file, found.name)])


def _dissection(share: Share, options: SourceOptions) -> Dissection:
    """Open the files of a share. They keep the capture sets that they have among all files."""
    paths = [file.path for file in share.files]
    dissection = _opened(paths, options, Shard(share.shard, share.shards) if share.shards > 1 else None)
    sets = {file.path: file.set_name for file in share.files}
    for file in dissection.captures.files:
        file.capture_set = sets.get(file.path, file.capture_set)
    if not share.is_whole:  # any connection, in any file, may contain names of topic ids
        everything = _opened([*paths, *share.others], options)
        dissection.topics = TopicNames(None, lambda: iter(everything))
    return dissection


def _opened(paths: list[str], options: SourceOptions, shard: Shard | None = None) -> Dissection:
    ports = options.ports
    return Dissection(paths, ports.brokers, key_logs=options.key_logs, only_ports=ports.only, shard=shard)
