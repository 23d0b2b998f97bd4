"""Sizes of batches that brokers refuse as too large, as they are sent and without compression."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.decoders.records.reader import decompressed
from kdissect.engine.records.record_sets import record_sets
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.by_group.positions import name_of
from kdissect.stats.by_topic.topic import codec_name

TOO_LARGE = frozenset({10, 18})  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE (Errors)
_TOPICS_KEPT = 1_000
DECOMPRESSED = 20  # batches of a topic


class RefusedBatch(NamedTuple):
    """A batch. `raw` is its size without compression in bytes; None if its records cannot be decompressed."""

    size: int
    codec: str
    raw: int | None

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes by which batches are compared."""
        return self.raw or 0, self.size


class RefusedBatches:
    """The largest refused batch of each topic, by scope and name.

    Of batches with compression, the first ones are compared, since others are not decompressed.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._compressed: Table[tuple[str, str], int] = Table(_TOPICS_KEPT)
        """How many batches are compressed."""
        self.largest: Table[tuple[str, str], RefusedBatch] = Table(_TOPICS_KEPT)

    def add(self, view: ExchangeView) -> None:
        """Take a Produce that has a response."""
        refused = {
            (topic, number)
            for topic, rows in produce_results(view.exchange) or ()
            for number, error, _ in rows
            if error in TOO_LARGE
        }
        for records in record_sets(view.exchange) if refused else ():
            field = records.records_field
            topic = field.topic if field.topic is not None else field.topic_id or b""
            if (topic, field.partition or 0) not in refused:
                continue
            key = view.info.scope, name_of(self._names, view.info, topic)
            for batch in records.found.batches:
                if batch.codec:
                    self._compressed.put(key, (self._compressed.peek(key) or 0) + 1)
                    if self.is_partly_compared(key):
                        continue
                raw = decompressed(batch, [])
                whole = None if raw is None else batch.records_start - batch.start + len(raw)
                found = RefusedBatch(batch.size, codec_name(batch.codec), whole)
                before = self.largest.peek(key)
                if before is None or found.sizes > before.sizes:
                    self.largest.put(key, found)

    def is_partly_compared(self, key: tuple[str, str]) -> bool:
        """Return whether more batches of a topic are compressed than are compared."""
        return (self._compressed.peek(key) or 0) > DECOMPRESSED
