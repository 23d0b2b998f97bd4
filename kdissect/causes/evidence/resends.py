"""Batches that were sent again after a client gave up waiting, so that the broker cannot know them."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_sets
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.native import native
from kdissect.model.record_batch import CODEC_MASK, NO_PRODUCER_ID, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_of

SUSPECTS_KEPT = 1_000  # clients whose Produces are looked at
BATCHES_KEPT = 10_000  # of those that were not answered; 200 bytes each
RESENDS_KEPT = 1_000
_PASSED, _LEFT = -1, -2  # of native.KindCounts
Sender = tuple[str, str, str | None]


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
    """`suspect` takes Produces that were not answered; from then on those of its client are looked at."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._suspects: Table[Sender, None] = Table(SUSPECTS_KEPT)
        self._sent: Table[tuple[str, str | bytes, int, bytes], Sent] = Table(BATCHES_KEPT)
        self._late: Table[tuple[str, str | bytes, int, bytes], Sent] = Table(BATCHES_KEPT)
        """Batches that were written, and answered late."""
        self._kinds: native.KindCounts | None = None
        self.found: list[Resend] = []

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Pass by what nobody suspects; gives the next exchange that is for `add`."""
        if self._kinds is None:
            self._kinds = native.KindCounts(self._kind_of)
        return self._kinds.count(block, start)

    def _kind_of(self, info: ConnectionInfo, api_key: int, _version: int, client_id: str | None) -> int:
        return _LEFT if api_key == apis.PRODUCE and _sender(info, client_id) in self._suspects else _PASSED

    def suspect(self, exchange: Exchange) -> None:
        """A Produce was not answered: what it has may be sent again."""
        view = ExchangeView(exchange)
        if view.request is None or not getattr(view.request, "acks", 0):
            return
        self._suspects.put(_sender(view.info, exchange.client_id), None)
        if self._kinds is not None:
            self._kinds.forget_all()
        sent_ns = view.sent_ns
        for topic, partition, batch in _batches(exchange):
            key = view.info.capture_set, topic, partition, _digest(batch)
            sent = Sent(_as(batch), packets_of(view.evidence))
            again = self._late.peek(key)
            if again is not None and again.packets.time_ns > sent_ns:
                self._tell(view, (topic, batch), sent, again.packets)
            elif self._sent.peek(key) is None:
                self._sent.put(key, sent)

    def late(self, exchange: Exchange) -> None:
        """A Produce was answered late: what waits for an answer longer may be told of only behind it."""
        view = ExchangeView(exchange)
        if view.request is None or exchange.response_summary().errors:
            return
        for topic, partition, batch in _batches(exchange):
            key = view.info.capture_set, topic, partition, _digest(batch)
            self._late.put(key, Sent(_as(batch), packets_of(view.evidence)))

    def add(self, exchange: Exchange) -> None:
        """Take an exchange: of a suspect, a Produce that is answered."""
        if exchange.api_key != apis.PRODUCE or not self._sent or exchange.response is None:
            return
        view = ExchangeView(exchange)
        if view.request is None or exchange.response_summary().errors:
            return
        for topic, partition, batch in _batches(exchange):
            key = view.info.capture_set, topic, partition, _digest(batch)
            sent = self._sent.peek(key)
            if sent is None:
                continue
            self._sent.pop(key)
            self._tell(view, (topic, batch), sent, packets_of(view.evidence))

    def _tell(
        self, view: ExchangeView, of: tuple[str | bytes, RecordBatch], sent: Sent, again: Packets
    ) -> None:
        topic, batch = of
        if sent.producer == _as(batch) and batch.producer_id != NO_PRODUCER_ID:
            return  # the broker knows it by its sequence
        if len(self.found) < RESENDS_KEPT:
            name = topic if isinstance(topic, str) else self._names.name(view.info, topic)
            text = name or (topic if isinstance(topic, str) else topic_id_text(topic))
            has_id = batch.producer_id != NO_PRODUCER_ID
            self.found.append(Resend(client_of(view), text, batch.count or 0, has_id, sent.packets, again))


def _sender(info: ConnectionInfo, client_id: str | None) -> Sender:
    return info.capture_set, info.client.host, client_id


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
