"""Batches that were sent again after a client gave up waiting, so that the broker cannot know them."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_sets
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.record_batch import CODEC_MASK, NO_PRODUCER_ID, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.stats.client import Client, client_of

WAITED_NS = 500_000_000  # less is a client that ends
BATCHES_KEPT = 10_000  # 200 bytes each
RESENDS_KEPT = 1_000


class Sent(NamedTuple):
    """Who sent a batch that was not answered, and as what."""

    producer: tuple[int, int, int]
    """Producer id, epoch, sequence."""
    packets: Packets


class Resend(NamedTuple):
    """A batch that was sent again and written."""

    client: Client
    topic: str
    records: int
    has_id: bool
    first: Packets
    again: Packets


class Resends:
    """Takes Produces that were not answered (`given_up`), or late (`late`): what comes again is among them.

    One that is answered at once is not looked at: it becomes no object.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._seen: Table[tuple[str, str | bytes, int, bytes], tuple[Sent, bool]] = Table(BATCHES_KEPT)
        """Batches, and whether they were answered."""
        self.found: list[Resend] = []
        self.unsafe: list[Resend] = []
        """Batches without a producer id that a client gave up waiting for: a retry writes them again."""

    def given_up(self, exchange: Exchange) -> None:
        """A Produce was not answered."""
        view, close = ExchangeView(exchange), exchange.close
        if view.request is None or not getattr(view.request, "acks", 0):
            return
        self._look(view, is_answered=False)
        request = exchange.request
        if close is None or close.by != "client" or request is None:
            return
        if close.time_ns - request.end_time_ns < WAITED_NS or len(self.unsafe) >= RESENDS_KEPT:
            return
        packets = packets_of(view.evidence)
        for topic, _, batch in _batches(exchange):
            if batch.producer_id == NO_PRODUCER_ID:
                self.unsafe.append(self._resend(view, topic, batch, packets, packets))

    def late(self, exchange: Exchange) -> None:
        """A Produce was answered late."""
        view = ExchangeView(exchange)
        if view.request is not None and not exchange.response_summary().errors:
            self._look(view, is_answered=True)

    def _look(self, view: ExchangeView, *, is_answered: bool) -> None:
        for topic, partition, batch in _batches(view.exchange):
            key = view.info.capture_set, topic, partition, _digest(batch)
            now, known = Sent(_as(batch), packets_of(view.evidence)), self._seen.peek(key)
            self._seen.put(key, (now, is_answered))
            if known is None or not (is_answered or known[1]) or len(self.found) >= RESENDS_KEPT:
                continue
            if known[0].producer == now.producer and batch.producer_id != NO_PRODUCER_ID:
                continue  # the broker knows it by its sequence
            first, again = sorted((known[0].packets, now.packets), key=lambda packets: packets.time_ns)
            self.found.append(self._resend(view, topic, batch, first, again))

    def _resend(
        self, view: ExchangeView, topic: str | bytes, batch: RecordBatch, first: Packets, again: Packets
    ) -> Resend:
        name = topic if isinstance(topic, str) else self._names.name(view.info, topic)
        text = name or (topic if isinstance(topic, str) else topic_id_text(topic))
        has_id = batch.producer_id != NO_PRODUCER_ID
        return Resend(client_of(view), text, batch.count or 0, has_id, first, again)


def _batches(exchange: Exchange) -> list[tuple[str | bytes, int, RecordBatch]]:
    found = []
    for records in record_sets(exchange):
        field = records.records_field
        topic = field.topic if field.topic is not None else field.topic_id or b""
        found += [(topic, field.partition or 0, batch) for batch in records.found.batches]
    return found


def _as(batch: RecordBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


def _digest(batch: RecordBatch) -> bytes:
    """By what is in a batch, whoever sends it."""
    digest = blake2b(digest_size=16)
    marks = batch.attributes & CODEC_MASK, batch.base_timestamp, batch.max_timestamp, batch.count
    digest.update(repr(marks).encode())
    digest.update(batch.data[batch.records_start : batch.end])
    return digest.digest()
