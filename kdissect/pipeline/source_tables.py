"""Tables of the data source from files that one task reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zlib import crc32

from kdissect.capture.files import CaptureSet
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.registry import TABLES
from kdissect.engine.tables.table import Table
from kdissect.pipeline.file_rows import file_row
from kdissect.pipeline.news import News
from kdissect.pipeline.packet_rows import packet_batches, segment_batches
from kdissect.pipeline.packet_tables import PACKETS, SEGMENTS
from kdissect.pipeline.run import flow_key
from kdissect.pipeline.setup import Setup
from kdissect.pipeline.source_options import SourceOptions
from kdissect.pipeline.task_tables import TaskTables

if TYPE_CHECKING:
    from kdissect.pipeline.data_source import Share

BY_FILE = ("packets", "segments", "files")
_SOURCES = {"packets": packet_batches, "segments": segment_batches}


def table_of(name: str) -> Table:
    """A table by its name. Raises ValueError."""
    found = {"packets": PACKETS, "segments": SEGMENTS} | TABLES
    if name not in found:
        raise ValueError(f"no table {name!r}; there are {', '.join(found)}")
    return found[name]


def batches_of_files(share: Share, options: SourceOptions) -> Iterator[Any]:
    """Packets, segments or facts of each file of a share."""
    import pyarrow as pa

    for found in share.files:
        file = found.open()
        if options.table in _SOURCES:
            yield from _SOURCES[options.table](file, found.name)
            continue
        for _ in file.batches():
            pass
        schema = arrow_schema(TABLES["files"])
        yield pa.RecordBatch.from_pylist([file_row(file, found.name)], schema=schema)


def batches_of_flows(share: Share, options: SourceOptions) -> Iterator[Any]:
    """Rows of the connections of a share."""
    captures = CaptureSet([found.open() for found in share.files])
    tables = TaskTables([_name(file.path) for file in captures.files], frozenset({options.table}))
    for placed in _events(captures, share, options):
        tables.add(placed)
        for _, batch in tables.take():
            yield batch
    for _, batch in tables.close():
        yield batch


def _events(captures: CaptureSet, share: Share, options: SourceOptions) -> Iterator[Placed]:
    """The events of the flows that fall to a share, from all files of their capture set."""
    names = [file.capture_set for file in captures.files]
    setup = Setup((), tuple(range(len(names))), tuple(names), options.ports)
    news = News()
    analyzer = OrderedAnalyzer(setup.analyzer(setup.secrets(news)))
    if share.shards == 1:
        for packets in captures.batches():
            for placed in analyzer.feed_batch(packets):
                yield from placed
    else:
        yield from _of_share(analyzer, captures, share)
    yield from analyzer.close(captures.ends())


def _of_share(analyzer: OrderedAnalyzer, captures: CaptureSet, share: Share) -> Iterator[Placed]:
    """Feed the segments of some flows only: the cheap part of the work is done by every share."""
    now_ns = 0
    parse = analyzer.analyzer.parser.parse_batch
    for packets in captures.batches():
        for (ref, time_ns, _, _, _), segment in zip(packets, parse(packets), strict=True):
            now_ns = max(now_ns, time_ns)
            if segment is not None and crc32(flow_key(segment[0], 0)[0]) % share.shards == share.shard:
                yield from analyzer.feed_segment(segment, ref, time_ns, now_ns)


def _name(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
