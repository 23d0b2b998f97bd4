"""Batches that a broker stores with another codec than their producer chose: seen as sent and as read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.record_sets import record_batches
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView, partition_of
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.digest import digest_of
from kdissect.model.record_batch import NO_PRODUCER_ID, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.identities import plain_name
from kdissect.stats.by_topic.topic import codec_name
from kdissect.stats.by_topic.topic_traffic import TopicKey
from kdissect.stats.client import Client, client_of
from kdissect.stats.transfers import topic_key

BATCHES_KEPT = 2_000  # 500 bytes each
FOUND_KEPT = 1_000
_WATCHED = 20  # topics at a time
_MATCHES = 50  # batches of a topic that are compared
_EXCHANGES = 1_000  # within which these come
_ALL_EXCHANGES = 3_000  # of all topics: each costs as much as some that are not looked at
_SAMPLE = 50  # records of a batch by which it is known again
_CONTENT = 1 << 20  # bytes of a batch that is decompressed for these
_CHANGE_TOPICS = frozenset({apis.CREATE_TOPICS, apis.DELETE_TOPICS})

_Place = tuple[TopicKey, int]
"""Topic and partition."""
_Mark = tuple[int, int, int, int | None, int, bool]
"""Producer id, epoch, sequence, number of records, last offset delta and whether a batch is transactional:
recompression does not change these.
"""


class RecompressedKey(NamedTuple):
    """Batches of one client in one topic, with the codec that it chose and the codec that a broker stores."""

    scope: str
    topic: str
    client: Client
    sent: str
    stored: str


class Recompressed:
    """Recompressed batches: how many, their bytes as sent, and of the first one the place and its Fetch."""

    __slots__ = ("broker", "bytes", "first", "read", "seen")

    def __init__(self, broker: str, first: str, read: Packets) -> None:
        self.seen = Seen()
        self.bytes = 0
        self.broker, self.first, self.read = broker, first, read


class _Written(NamedTuple):
    """A batch that a response confirms."""

    client: Client
    broker: str
    mark: _Mark
    times: tuple[int, int]
    content: bytes | None
    codec: int
    size: int
    packets: Packets


class _Left:
    """How many batches of a topic are left to compare, and within how many exchanges."""

    __slots__ = ("exchanges", "matches")

    def __init__(self) -> None:
        self.matches, self.exchanges = _MATCHES, _EXCHANGES


class Recompressions:
    """Takes all exchanges while it `waits`: a number of them after a topic had batches with a second codec.

    `mixed` has these topics with the time of the second codec, and grows.
    """

    def __init__(self, names: TopicNames, mixed: Mapping[TopicKey, int]) -> None:
        self._names = names
        self._mixed = mixed
        self._left = _ALL_EXCHANGES
        self._begun = 0
        """How many topics of `mixed` were watched, or are."""
        self._watched: dict[TopicKey, _Left] = {}
        self._written: Table[tuple[_Place, int], _Written] = Table(BATCHES_KEPT)
        self.found: Table[RecompressedKey, Recompressed] = Table(FOUND_KEPT)

    @property
    def waits(self) -> bool:
        """Whether each exchange that comes is of interest."""
        return bool(self._watched) or self._begun < len(self._mixed)

    def add(self, exchange: Exchange) -> None:
        """Take the next exchange, in the order in which the analyzer reports them."""
        for topic in islice(self._mixed, self._begun, None):
            if self._left and len(self._watched) < _WATCHED:
                self._watched[topic] = _Left()
        self._begun = len(self._mixed)
        view = ExchangeView(exchange)
        sent_ns = 0 if exchange.request is None else exchange.request.time_ns
        new = [left for topic, left in self._watched.items() if sent_ns >= self._mixed[topic]]
        self._left -= bool(new)
        for left in new:
            left.exchanges -= 1
        self._watched = {
            topic: left for topic, left in self._watched.items() if self._left and left.exchanges
        }
        if view.key in _CHANGE_TOPICS:
            self._forget(view)
        if exchange.request is None or exchange.response is None:
            return
        if view.key == apis.PRODUCE:
            self._write(view)
        elif view.key == apis.FETCH:
            self._read(view)

    def _write(self, view: ExchangeView) -> None:
        bases = {
            (topic, number): base
            for topic, rows in produce_results(view.exchange) or ()
            for number, error, base in rows
            if not error and base >= 0
        }
        for place, partition, batch in self._batches(view, bases):
            topic, _ = place
            if view.evidence.sent_ns >= self._mixed[topic] and batch.count is not None:
                written = _Written(
                    client_of(view), view.info.broker_text, _mark(batch), _times(batch), _content(batch),
                    batch.codec, batch.size, packets_of(view.evidence),
                )  # fmt: skip
                self._written.put((place, bases[partition]), written)

    def _read(self, view: ExchangeView) -> None:
        for place, _, batch in self._batches(view):
            written = self._written.peek((place, batch.base_offset))
            if written is None or written.mark != _mark(batch):
                continue
            if not batch.is_log_append_time and written.times != _times(batch):
                continue
            self._written.pop((place, batch.base_offset))
            (identity, scope), partition = place
            is_other = batch.codec != written.codec
            if is_other and written.content is not None and written.content == _content(batch):
                codecs = codec_name(written.codec), codec_name(batch.codec)
                key = RecompressedKey(scope, plain_name(identity), written.client, *codecs)
                offsets = f"{batch.base_offset:,} to {batch.base_offset + batch.last_offset_delta:,}"
                first = f"offsets {offsets} of partition {partition}"
                made = Recompressed(written.broker, first, packets_of(view.evidence))
                found = self.found.get(key) or self.found.put(key, made)
                found.seen.add(written.packets)
                found.bytes += written.size
            left = self._watched[place[0]]
            left.matches -= 1
            if not left.matches:
                del self._watched[place[0]]
                return

    def _forget(self, view: ExchangeView) -> None:
        """Forget batches of topics that a client creates or deletes: another topic may have these offsets."""
        asked = view.exchange.request_summary()
        ids = {self._names.name(view.info, topic_id) for topic_id in asked.topic_ids}
        names = {*asked.topics, *ids}
        for key, _ in list(self._written.items()):
            ((identity, scope), _), _ = key
            if scope == view.info.scope and plain_name(identity) in names:
                self._written.pop(key)

    def _batches(
        self, view: ExchangeView, only: Mapping[tuple[str | bytes, int], int] | None = None
    ) -> Iterator[tuple[_Place, tuple[str | bytes, int], RecordBatch]]:
        """Yield the batches with records of watched topics, of a request only a batch that is alone."""
        for field, found in record_batches(view.exchange):
            named = partition_of(field)
            if only is not None and (named not in only or len(found.batches) != 1):
                continue
            topic = topic_key(self._names, view.info, named[0]), view.info.scope
            for batch in found.batches:
                if topic in self._watched and not batch.is_control:
                    yield (topic, named[1]), named, batch


def _mark(batch: RecordBatch) -> _Mark:
    return (
        batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.count, batch.last_offset_delta,
        batch.is_transactional,
    )  # fmt: skip


def _times(batch: RecordBatch) -> tuple[int, int]:
    return batch.base_timestamp, batch.max_timestamp


def _content(batch: RecordBatch) -> bytes | None:
    """Return a digest of the first records, empty if sequences identify the batch; None if they cannot be
    read.
    """
    if batch.producer_id != NO_PRODUCER_ID:
        return b""
    records = read_records(batch, _CONTENT, _SAMPLE).records
    if batch.count is None or len(records) < min(batch.count, _SAMPLE):
        return None
    return digest_of([(record.key, record.value, record.headers) for record in records])
