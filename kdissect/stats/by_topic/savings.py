"""Savings by zstd and larger batches: produced batches, compressed and merged again.

Each batch is compressed by zstd as it is, and the consecutive records of a client for a partition are put
into larger batches, as the Java producer fills them with a longer `linger.ms`. A sample of each topic,
because it costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import zstandard

from kdissect.decoders.compression.compress import compress
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC, HEADER_V2
from kdissect.decoders.records.reader import decompressed
from kdissect.decoders.records.varint import MAX_VARLONG, encode_varint, record_bounds, varint
from kdissect.engine.records.record_sets import record_sets
from kdissect.history import api_keys as apis
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.record_batch import Codec, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_links import ClientKey, client_key_of
from kdissect.stats.transfers import Named

Facts = dict[str, Any]
_Topic = tuple[str, str]
"""Identity and scope, as `stats.transfers.Named` has them."""
_Key = tuple[ClientKey, _Topic, int, bool]
"""Client, topic, partition, whether zstd replaces the present codec."""

TOPIC_BYTES = 4 << 20  # of records, uncompressed, of one topic: a second's work
ALL_BYTES = 64 << 20
OPEN_KEPT = 1_000  # larger batches that are being filled, of 64 KB by default
_LEVEL = 3  # of zstd: its own default, and that of producers
_MS_NS = 1_000_000

# How full a compressed batch gets depends on what the producer expects of the codec, which it learns slowly
# (org.apache.kafka.common.record.internal.CompressionRatioEstimator).
_BETTER, _WORSE, _CAUTION = 0.005, 0.05, 1.05
_RECORD_HEAD = 21  # bytes a producer reserves for a record besides key, value and headers


class Sizes:
    """Batches and their bytes."""

    __slots__ = ("batches", "bytes")

    def __init__(self) -> None:
        self.batches = self.bytes = 0

    def add(self, size: int) -> None:
        """Count a batch."""
        self.batches += 1
        self.bytes += size

    def facts(self) -> Facts:
        """Return the facts by name."""
        return {"batches": self.batches, "bytes": self.bytes}


class TopicSavings:
    """The sample of one topic."""

    def __init__(self) -> None:
        self.seen = 0
        """Batches, including batches outside the sample."""
        self.raw = self.records = 0
        self.as_sent, self.zstd, self.larger, self.larger_zstd = Sizes(), Sizes(), Sizes(), Sizes()
        self.ratios: dict[int, float] = {}
        """The producer's expected compression ratio of a codec for this topic, by codec."""

    def ratio(self, codec: int) -> float:
        """Return the producer's expected compression ratio of a codec."""
        return self.ratios.get(codec, 1.0)

    def expect(self, codec: int, ratio: float) -> None:
        """Take what a codec left of a batch."""
        known = self.ratio(codec)
        self.ratios[codec] = max(known + _WORSE if ratio > known else known - _BETTER, ratio)

    def merge(self, other: TopicSavings) -> None:
        """Add the sample of another capture set."""
        self.seen += other.seen
        self.records += other.records
        for sizes, more in zip(self._sizes(), other._sizes(), strict=True):
            sizes.batches += more.batches
            sizes.bytes += more.bytes

    def _sizes(self) -> tuple[Sizes, ...]:
        return self.as_sent, self.zstd, self.larger, self.larger_zstd

    def facts(self) -> Facts | None:
        """Return the facts by name, or None if no batch could be read."""
        if not self.as_sent.batches:
            return None
        return {
            "is_sample": self.as_sent.batches < self.seen,
            "of_batches": self.seen,
            "records": self.records,
            "as_sent": self.as_sent.facts(),
            "zstd": self.zstd.facts(),
            "larger": self.larger.facts(),
            "larger_zstd": self.larger_zstd.facts(),
        }


class _Open:
    """A larger batch that is being filled, to be compressed by a codec. `model` is one batch by that
    codec.
    """

    __slots__ = ("base_timestamp", "codec", "content", "count", "model", "since_ns", "sizes", "topic")

    def __init__(self, topic: TopicSavings, sizes: Sizes, codec: int, model: bytes) -> None:
        self.topic = topic
        self.sizes = sizes
        self.codec = codec
        self.model = model
        self.content = bytearray()
        self.count = self.base_timestamp = self.since_ns = 0


class Savings:
    """Savings of Produces, which it takes in the order in which the analyzer reports them."""

    def __init__(self, names: TopicNames, batch_size: int, linger_ms: int) -> None:
        self._names = names
        self._batch_size = batch_size
        self._linger_ns = linger_ms * _MS_NS
        self._topics: dict[_Topic, TopicSavings] = {}
        self._left = ALL_BYTES
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._open: Table[_Key, _Open] = Table(OPEN_KEPT)

    def add(self, exchange: Exchange) -> None:
        """Take the next exchange. Batches that the broker refused do not count."""
        if exchange.api_key != apis.PRODUCE or exchange.request is None:
            return
        if exchange.response_summary().errors:
            return
        client = client_key_of(exchange.connection, exchange.client_id)
        for records in record_sets(exchange):
            field = records.records_field
            topic_name = field.topic if field.topic is not None else field.topic_id or b""
            named = Named.of(self._names, exchange.connection, topic_name)
            place = named.identity, named.scope
            topic = self._topics.setdefault(place, TopicSavings())
            for batch in records.found.batches:
                topic.seen += not batch.is_control
                if topic.raw < TOPIC_BYTES and self._left > 0:
                    key = client, place, field.partition or 0
                    self._batch(topic, key, batch, exchange.request.time_ns)

    def _batch(
        self, topic: TopicSavings, key: tuple[ClientKey, _Topic, int], batch: RecordBatch, time_ns: int
    ) -> None:
        if batch.magic != CURRENT_MAGIC or batch.is_control:
            return
        content = batch.data[batch.records_start : batch.end]
        if batch.codec:
            found = decompressed(batch, [])
            if found is None:
                return
            content = found
        try:
            rows = list(_rows(content, batch.base_timestamp))
        except (IndexError, ValueError):
            return
        topic.raw += len(content)
        self._left -= len(content)
        topic.records += len(rows)
        topic.as_sent.add(batch.size)
        topic.zstd.add(HEADER_V2.size + self._compressed(content))
        model = batch.data[batch.records_start : batch.end]
        self._fill((*key, False), _Open(topic, topic.larger, batch.codec, model), rows, time_ns)
        self._fill((*key, True), _Open(topic, topic.larger_zstd, Codec.ZSTD, b""), rows, time_ns)

    def _compressed(self, content: bytes | bytearray) -> int:
        """Return the size of records by zstd, in a stream as producers write it: their size is not known
        before.
        """
        stream = self._compressor.compressobj()
        found = stream.compress(content) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        return len(found) + len(stream.flush())  # the Java producer's stream ends with an empty block

    def _fill(self, key: _Key, new: _Open, rows: list[tuple[int, int, bytes]], time_ns: int) -> None:
        """Put records into a larger batch. Begin one like `new` if they do not fit or came too late."""
        held = self._open.get(key)
        for attributes, timestamp, tail in rows:
            if held is not None and (
                held.codec != new.codec
                or time_ns - held.since_ns > self._linger_ns
                or not self._has_room(held, len(tail))
            ):
                self._close(held)
                held = None
            if held is None:
                if len(self._open) >= OPEN_KEPT and key not in self._open:
                    self._close_oldest()
                held = self._open.put(key, _Open(new.topic, new.sizes, new.codec, new.model))
                held.base_timestamp, held.since_ns = timestamp, time_ns
            held.content += _record(attributes, timestamp - held.base_timestamp, held.count, tail)
            held.count += 1

    def _has_room(self, held: _Open, more: int) -> bool:
        filled: float = len(held.content)
        if held.codec:
            filled *= held.topic.ratio(held.codec) * _CAUTION
        return HEADER_V2.size + filled + _RECORD_HEAD + more <= self._batch_size

    def _close(self, held: _Open) -> None:
        size = len(held.content)
        if held.codec == Codec.ZSTD:
            size = self._compressed(held.content)
        elif held.codec:
            size = len(compress(held.codec, bytes(held.content), held.model, CURRENT_MAGIC) or held.content)
        held.sizes.add(HEADER_V2.size + size)
        held.topic.expect(held.codec, size / len(held.content))

    def _close_oldest(self) -> None:
        key, held = next(iter(self._open.items()))
        self._open.pop(key)
        self._close(held)

    def facts(self, apart: Callable[[str], str]) -> dict[tuple[str, str], Facts | None]:
        """Return the facts by topic and cluster. `apart` returns the cluster of a scope.

        Take no more exchanges afterwards.
        """
        while len(self._open):
            self._close_oldest()
        found: dict[tuple[str, str], TopicSavings] = {}
        for (identity, scope), topic in self._topics.items():
            found.setdefault((identity, apart(scope)), TopicSavings()).merge(topic)
        return {key: topic.facts() for key, topic in found.items()}


def _rows(content: bytes, base_timestamp: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield attributes and time of each record, and its bytes after the offset. Raises ValueError,
    IndexError.
    """
    at, end = 0, len(content)
    while at < end:
        at, stop = record_bounds(content, at, end)
        attributes = content[at]
        elapsed, at = varint(content, at + 1, stop, MAX_VARLONG)
        _, at = varint(content, at, stop)
        yield attributes, base_timestamp + elapsed, content[at:stop]
        at = stop


def _record(attributes: int, elapsed: int, offset: int, tail: bytes) -> bytes:
    body = bytes((attributes,)) + encode_varint(elapsed) + encode_varint(offset) + tail
    return encode_varint(len(body)) + body
