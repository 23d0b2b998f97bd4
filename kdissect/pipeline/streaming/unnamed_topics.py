"""Ids of topics in rows whose names nobody has told yet: which, and since which batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdissect.pipeline.table_files.hive_partitions import values_of
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.stages.topic_names import WITH_NAMES, Names

TopicRow = tuple[str, str, str]
"""Capture set, broker and topic id, as rows have them."""
Unnamed = dict[TopicRow, int]
"""With the first batch that has rows of it."""
# Some 200 bytes each. A cluster has fewer topics; ids of more stay without names that are told later.
MAX_UNNAMED = 100_000
_COLUMNS = ("capture_set", "broker")


def unnamed_in(filesystem: Any, root: str, files: Iterable[WrittenFile], names: Names) -> set[TopicRow]:
    """The ids in staged files that have no name."""
    found: set[TopicRow] = set()
    for file in files:
        if file.table in WITH_NAMES and file.has_ids:
            found |= _places(filesystem, f"{root}/{file.path}", file)
    return {place for place in found if names.name(*place) is None}


def named_now(unnamed: Unnamed, names: Names) -> Unnamed:
    """Those whose names were told."""
    return {place: since for place, since in unnamed.items() if names.name(*place) is not None}


def with_more(unnamed: Unnamed, found: Iterable[TopicRow], batch: int) -> Unnamed:
    """Those that are known, and those of a batch."""
    more = dict(unnamed)
    for place in found:
        if len(more) >= MAX_UNNAMED:
            break
        more.setdefault(place, batch)
    return more


def _places(filesystem: Any, path: str, file: WrittenFile) -> set[TopicRow]:
    """What a file has, each once."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    told = values_of(file.directory)
    column = "topic_ids" if file.table == "exchanges" else "topic_id"
    wanted = [name for name in (*_COLUMNS, column) if name not in told]
    table = pq.read_table(path, columns=wanted, filesystem=filesystem, partitioning=None).select(wanted)
    if column == "topic_ids":
        parents = pc.list_parent_indices(table.column(column).combine_chunks())
        ids = pc.list_flatten(table.column(column).combine_chunks())
        table = table.drop_columns([column]).take(parents).append_column("topic_id", ids)
    for name in _COLUMNS:
        if name in told:
            table = table.append_column(name, pa.array([told[name]] * table.num_rows, pa.string()))
    table = table.filter(pc.is_valid(table.column("topic_id")))
    columns = ["capture_set", "broker", "topic_id"]
    rows = table.group_by(columns).aggregate([]).select(columns).to_pylist()
    return {(row["capture_set"], row["broker"], row["topic_id"]) for row in rows}
