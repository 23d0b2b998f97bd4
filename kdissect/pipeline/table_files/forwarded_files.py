"""Facts that tasks forward, staged as files like tables: events, names of topics, judgements."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdissect.history.topics.topic_names import TopicNames
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.stages import forwarding
from kdissect.stages.judges import Judgement
from kdissect.stages.per_flow import FORWARDED, JUDGEMENT
from kdissect.stages.topic_id_names import Names

NAMES = "_names"
STAGED = frozenset({FORWARDED, NAMES, JUDGEMENT})
"""Names that are of no table: what was written under them is never committed."""


def split_forwarded(batch: Any) -> tuple[Any, Any]:
    """Return the rows that contain names of topics, and the events."""

    tells = pc.starts_with(batch.column("event_order"), forwarding.NAMES)
    return batch.filter(tells), batch.filter(pc.invert(tells))


def names_in(filesystem: Any, root: str, files: Iterable[WrittenFile], known: TopicNames) -> Names:
    """Return all forwarded names, learned in the order in which one process learns them."""
    names = Names(known)
    learn_names(filesystem, root, files, names)
    return names


def learn_names(filesystem: Any, root: str, files: Iterable[WrittenFile], names: Names) -> None:
    """Learn more forwarded names."""
    told = [
        (row["event_order"], row["blob"])
        for batch in _batches(filesystem, root, files, NAMES)
        for row in batch.to_pylist()
    ]
    names.learn(sorted(told))


def judgements_in(filesystem: Any, root: str, files: Iterable[WrittenFile]) -> Judgement:
    """Merge the judgements of all judges."""
    whole = Judgement()
    for batch in _batches(filesystem, root, files, JUDGEMENT):
        for blob in batch.column("blob").to_pylist():
            whole.merge(pickle.loads(blob))
    return whole


def _batches(filesystem: Any, root: str, files: Iterable[WrittenFile], name: str) -> Iterator[Any]:
    for file in files:
        if file.table == name:
            with pq.ParquetFile(f"{root}/{file.path}", filesystem=filesystem) as opened:
                yield from opened.iter_batches()
