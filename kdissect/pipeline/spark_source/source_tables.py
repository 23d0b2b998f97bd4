"""Tables of the data source from files that one task reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

from pyspark.sql.datasource import InputPartition

from kdissect.api import Dissection
from kdissect.capture.files import ends_of, numbers_in_sets
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.table import Table
from kdissect.history.topic_names import TopicNames
from kdissect.model.packets.packet import NEVER_NS
from kdissect.pipeline.flow_shuffle.run import flow_key
from kdissect.pipeline.inputs import Input
from kdissect.pipeline.spark_source.packet_rows import PACKETS, SEGMENTS, packet_batches, segment_batches
from kdissect.pipeline.spark_source.source_options import SourceOptions
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stages.connection_rows import ExchangeTables
from kdissect.stages.file_rows import file_row
from kdissect.stages.one_process import produce
from kdissect.stages.table_rows import TableRows, batch_of


class Share(InputPartition):
    """What one task reads: `files`, and of their flows those whose number is `shard` modulo `shards`.

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
"""Tables that shares of flows make, each its own; the others look at several connections."""
_SOURCES = {"packets": packet_batches, "segments": segment_batches}


def table_of(name: str) -> Table:
    """A table by its name. Raises ValueError."""
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
    if options.table in BY_FLOW and share.shards > 1:
        return _of_flows(share, options)
    return (batch for _, batch in produce(_dissection(share, options), frozenset({options.table})))


def _of_files(share: Share, table: str) -> Iterator[Any]:
    for found in share.files:
        file = found.open()
        if table in _SOURCES:
            yield from _SOURCES[table](file, found.name)
            continue
        for _ in file.batches():
            pass
        yield batch_of("files", [file_row(file, found.name)])


def _of_flows(share: Share, options: SourceOptions) -> Iterator[Any]:
    dissection = _dissection(share, options)
    rows = TableRows({options.table})
    pieces = SnapshotPieces()
    tables = ExchangeTables(dissection.file_names, rows, dissection.topics)
    for order, event in _events(dissection, share):
        if isinstance(event, Exchange):
            tables.exchange(event, order, pieces)
        elif isinstance(event, ConnectionClosed):
            tables.connection(event.connection, order)
        yield from (batch for _, batch in rows.take())
    yield from (batch for _, batch in rows.close())


def _dissection(share: Share, options: SourceOptions) -> Dissection:
    """The files of a share. They keep the capture sets that they have among all files."""
    paths = [file.path for file in share.files]
    dissection = _opened(paths, options)
    sets = {file.path: file.set_name for file in share.files}
    for file in dissection.captures.files:
        file.capture_set = sets.get(file.path, file.capture_set)
    if not share.is_whole:  # names of topic ids may be told on any connection, in any file
        everything = _opened([*paths, *share.others], options)
        dissection.topics = TopicNames(None, lambda: iter(everything))
    return dissection


def _opened(paths: list[str], options: SourceOptions) -> Dissection:
    ports = options.ports
    return Dissection(paths, ports.brokers, key_logs=options.key_logs, only_ports=ports.only)


def _events(dissection: Dissection, share: Share) -> Iterator[Placed]:
    """The events of the flows that fall to a share of several."""
    # Each share takes all packets apart, which is the cheap part, and analyses its own.
    numbers = numbers_in_sets(file.capture_set for file in dissection.captures.files)
    analyzer = OrderedAnalyzer(dissection.analyzer, numbers.__getitem__)
    captures, parse = dissection.captures, dissection.analyzer.parser.parse_batch
    now_ns = NEVER_NS
    for packets in captures.batches():
        for (ref, time_ns, _, _, _), segment in zip(packets, parse(packets), strict=True):
            now_ns = max(now_ns, time_ns)
            if segment is not None and crc32(flow_key(segment[0])[0]) % share.shards == share.shard:
                yield from analyzer.feed_segment(segment, ref, time_ns, now_ns)
    yield from analyzer.close(ends_of(captures.files))
