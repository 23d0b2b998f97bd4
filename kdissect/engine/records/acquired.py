"""Which of the records that a ShareFetch answer carries it gives to its member (KIP-932).

The answer carries whole batches. `AcquiredRecords` after them contain the offsets that the member acquired,
and the delivery count of each. It must ignore other offsets.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.record_batch import RecordBatch
from kdissect.session.exchange import Exchange

SHARE_FETCH = 78  # org.apache.kafka.common.protocol.ApiKeys

Place = tuple[bytes | None, int | None]


class Delivery(NamedTuple):
    """Delivery of one record: whether the member acquired it, and which delivery this is; None if unknown."""

    acquired: bool | None
    number: int | None


_NOT_ACQUIRED, _UNKNOWN = Delivery(False, None), Delivery(None, None)


class Acquired:
    """The ranges acquired of one partition. Without `is_whole` the answer was captured in part."""

    def __init__(self, rows: Iterable[Any] = (), *, is_whole: bool = False) -> None:
        # Brokers send them in order, without overlaps (FET011 reports overlaps: there the last range counts).
        ranges = [
            (row.first_offset, row.last_offset, row.delivery_count) for row in rows if hasattr(row, _LAST)
        ]
        self._ranges = sorted(ranges)
        self._firsts = [first for first, _, _ in self._ranges]
        self._missing = _NOT_ACQUIRED if is_whole else _UNKNOWN
        self.is_whole = is_whole

    def of(self, offset: int) -> Delivery:
        """Return the response's delivery of the record at an offset."""
        at = bisect_right(self._firsts, offset) - 1
        if at < 0 or self._ranges[at][1] < offset:
            return self._missing
        return Delivery(True, self._ranges[at][2])

    def count(self, batch: RecordBatch) -> int:
        """Return how many records of a batch were acquired, by its header.

        Offsets that no record has any more, as in a compacted batch, count up to the number of its records.
        """
        first, last = batch.base_offset, batch.last_offset
        at = max(bisect_right(self._firsts, first) - 1, 0)
        found = 0
        for begin, end, _ in self._ranges[at : bisect_right(self._firsts, last)]:
            found += max(min(end, last) - max(begin, first) + 1, 0)
        return found if batch.count is None else min(found, batch.count)


_LAST = "delivery_count"  # the last field of a range: one that was cut lacks it
_UNSAID = Acquired()


class AcquiredRecords:
    """Finds the deliveries of a response for each of its records fields, and reads the body once for all of
    them.
    """

    def __init__(self) -> None:
        self._exchange: Exchange | None = None
        self._found: dict[Place, Acquired] = {}

    def of(self, records: RecordSet) -> Acquired | None:
        """Return the deliveries of one records field; None for other APIs, whose records are all meant for
        the client.
        """
        exchange = records.exchange
        if exchange.api_key != SHARE_FETCH:
            return None
        if exchange is not self._exchange:
            self._exchange, self._found = exchange, _acquired(exchange)
        return self._found.get((records.records_field.topic_id, records.records_field.partition), _UNSAID)


def _acquired(exchange: Exchange) -> dict[Place, Acquired]:
    """Return the ranges by topic id and partition."""
    body = exchange.bodies()[1]
    is_whole = body is not None and body.fits
    value = body.value if body is not None and body.fits else _part(exchange)
    return {
        (bytes(topic.topic_id), row.partition_index): Acquired(
            sent(row, "acquired_records", None) or (), is_whole=is_whole
        )
        for topic in sent(value, "responses", None) or ()
        for row in sent(topic, "partitions", None) or ()
        if hasattr(row, "partition_index")
    }


def _part(exchange: Exchange) -> Any:
    from kdissect.engine.exchange_bodies import part_of  # start-up: nearly all answers fit

    part = part_of(exchange, "response")
    return None if part is None else part.value
