"""Batches of a Produce request, and the results of their partitions in its response."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.decoders.listed_partitions import topic_namer
from kdissect.engine.records.record_sets import lone_batch, record_batches
from kdissect.engine.transfer_rows import unread_places
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import PartitionKey, partition_of
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.session.exchange import Exchange

_MAGIC = 2  # of batches with producers

BatchHeader = tuple[PartitionKey, int, int, int, int, int, int]
"""The partition, attributes, last offset delta, producer id and epoch, base sequence, count."""
PRODUCER_ID = 3  # its place among these
Results = list[tuple[str | bytes, list[tuple[int, int, int]]]]
"""Topics by name or id, each with partitions, their error codes and base offsets."""


class ProduceParts(NamedTuple):
    """Parts of a request that fits, whose records are batches of magic 2 with right checksums alone.

    A request log omits the batches.
    """

    acks: int
    is_transactional: bool
    batches: list[BatchHeader]

    @property
    def without_id(self) -> int:
        """How many batches have no producer id."""
        return sum(header[PRODUCER_ID] == NO_PRODUCER_ID for header in self.batches)


def produce_parts(exchange: Exchange) -> ProduceParts | None:
    """Return the parts of a Produce; None for any other one. Raises nothing."""
    found = unread_places(exchange)
    if found is not None:
        rows, frame, offset = found[0]
        read = rows.batches(frame, offset)
        if read is None:
            return None
        (acks, transactional_id), batches = read
        return ProduceParts(acks or 0, transactional_id is not None, batches)
    request = exchange.bodies()[0]
    if request is None or not request.fits:
        return None
    headers = _headers(exchange)
    if headers is None:
        return None
    transactional_id = getattr(request.value, "transactional_id", None)
    return ProduceParts(request.value.acks, transactional_id is not None, headers)


def _headers(exchange: Exchange) -> list[BatchHeader] | None:
    """Return the headers of the batches in a decoded request."""
    lone = lone_batch(exchange)
    if lone is not None:  # nearly always
        _, _, _, _, _, bits, last_delta, _, _, producer_id, epoch, sequence, count = lone.header
        return [(partition_of(lone.records_field), bits, last_delta, producer_id, epoch, sequence, count)]
    headers: list[BatchHeader] = []
    for records_field, found in record_batches(exchange):
        if found.faults or found.cut:
            return None
        for batch in found.batches:
            if batch.magic != _MAGIC or not batch.crc_is_right or batch.count is None:
                return None
            headers.append(
                (partition_of(records_field), batch.attributes, batch.last_offset_delta, batch.producer_id,
                 batch.producer_epoch, batch.base_sequence, batch.count)
            )  # fmt: skip
    return headers


def produce_results(exchange: Exchange) -> Results | None:
    """Return the results in a Produce response; None without one that fits. Raises nothing."""
    found = unread_places(exchange)
    place = None if found is None else found[1]
    if place is not None:
        rows, frame, offset = place
        topics = rows.topics(frame, offset)
        if topics is not None:
            return [
                (name, [(number, error, base) for number, error, base, _ in stated])
                for name, stated in topics
            ]
    response, version = exchange.bodies()[1], exchange.api_version
    if response is None or not response.fits or version is None:
        return None
    named = topic_namer(apis.PRODUCE, version, True)
    return [
        (
            named(topic),
            [(row.index, row.error_code, row.base_offset) for row in topic.partition_responses or ()],
        )
        for topic in response.value.responses or ()
    ]
