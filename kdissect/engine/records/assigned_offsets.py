"""Offsets in the log of records that a producer sends: the response says where the broker put them."""

from __future__ import annotations

from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.transfer_rows import PRODUCE
from kdissect.model.record_batch import Record, RecordBatch
from kdissect.session.exchange import Exchange

_CURRENT_MAGIC = 2

Place = tuple[str | bytes | None, int | None]
"""Name or id of a topic, as the wire has it, and partition."""


class LogOffsets:
    """The offsets of a field's records, in their order.

    A batch of magic 2 has the offsets of its records counted from its first one. Messages of magic 0 and 1
    are numbered by the broker one by one (`LogValidator` of Kafka).
    """

    def __init__(self, base: int | None) -> None:
        self._next = base

    def of(self, batch: RecordBatch, number: int, record: Record) -> int | None:
        """Return the offset of a record and its number in its batch; None if no response says it."""
        if self._next is None:
            return None
        return self._next + (record.offset - batch.base_offset if batch.magic >= _CURRENT_MAGIC else number)

    def skip(self, batch: RecordBatch, records: int, is_whole: bool) -> None:
        """Continue after a batch of which `records` records were read; `is_whole`: it has no other
        records.
        """
        if self._next is None:
            return
        if batch.magic >= _CURRENT_MAGIC:
            self._next += batch.last_offset - batch.base_offset + 1
        else:
            self._next = self._next + records if is_whole else None


class AssignedOffsets:
    """Finds the offset that a broker assigned to the first record of each partition in a Produce request."""

    def __init__(self) -> None:
        self._exchange: Exchange | None = None
        self._found: dict[Place, int] = {}

    def of(self, records: RecordSet) -> LogOffsets | None:
        """Return the offsets of one records field; None for an API whose records have their offsets in the
        log.
        """
        return LogOffsets(self.base(records)) if records.exchange.api_key == PRODUCE else None

    def base(self, records: RecordSet) -> int | None:
        """Return the offset of a Produce field's first record; None if no response contains it."""
        if records.exchange is not self._exchange:
            self._exchange, self._found = records.exchange, _assigned(records.exchange)
        field = records.records_field
        return self._found.get((field.topic_id if field.topic is None else field.topic, field.partition))


def _assigned(exchange: Exchange) -> dict[Place, int]:
    """Return offsets by topic and partition, of accepted batches."""
    body = exchange.bodies()[1]
    if body is None or not body.fits:
        return {}
    return {
        (_topic(topic), row.index): row.base_offset
        for topic in body.value.responses or ()
        for row in topic.partition_responses or ()
        if not row.error_code and row.base_offset >= 0
    }


def _topic(topic: Any) -> str | bytes:
    topic_id = sent(topic, "topic_id", None)
    return str(topic.name) if topic_id is None else bytes(topic_id)
