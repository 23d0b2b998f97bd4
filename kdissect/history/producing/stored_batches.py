"""Compare produced batches with batches that are fetched from the same broker.

Key: capture set and broker address, topic, partition, base offset. For a batch that a broker accepted, the
table stores its checksum and the header that the checksum covers. A batch that is fetched at its offset is
the same one if producer, sequence, times and count are equal. Its records must then equal the produced ones.
Requests name topics up to version 12 and have ids from version 13 on. A name is compared with an id if
Metadata in the capture shows that the name has this id alone.

Some batches are not compared: compressed batches, which a broker may compress again, batches without a
producer id, because another batch may be at their offset after an election, and batches whose header the
broker changed, as it does with its own times and with compacted batches.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC, HEADER_V2
from kdissect.engine.records.record_sets import lone_batch, record_batches
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView, PartitionKey, partition_of
from kdissect.history.fact import Evidence, Fact, evidence_of
from kdissect.history.producing.produce_parts import produce_results
from kdissect.model.native import is_compiled, native
from kdissect.model.record_batch import CODEC_MASK, CONTROL, NO_PRODUCER_ID, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

BATCHES_KEPT = 1 << 12
"""Those that were produced last, of all brokers: 300 bytes each, so that they fit into the caches of a core.
"""
_HEADER = slice(21, HEADER_V2.size)  # spec/001 "5.3.1 Record Batch": from the attributes to the count


Place = tuple[str, str | bytes, int, int]
"""Capture set and address of the broker, as one text, topic by name or id, partition, base offset."""


class StoredFact(StrEnum):
    """Facts about batches that were produced and fetched."""

    RECORDS_DIFFER = "records_differ"  # the same batch with other records


class Stored(NamedTuple):
    """A batch that a broker took. `is_sure` is False if its producer sent it twice with different records."""

    crc: int
    header: bytes
    evidence: tuple[Any, ...]
    is_sure: bool


class StoredTable:
    """The batches that were noted last, by broker, topic, partition and base offset."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._batches: OrderedDict[Place, Stored] = OrderedDict()

    def __len__(self) -> int:
        return len(self._batches)

    def note(self, place: Place, crc: int, header: bytes, evidence: tuple[Any, ...]) -> None:
        """Note a batch that a broker accepted."""
        before = self._batches.get(place)
        if before is None:
            if len(self._batches) >= self._most:
                self._batches.popitem(last=False)
        elif before.header == header:
            if before.crc != crc:
                self._batches[place] = before._replace(is_sure=False)
            return
        self._batches[place] = Stored(crc, header, evidence, True)

    def find(self, place: Place) -> Stored | None:
        """Return the batch of a place."""
        return self._batches.get(place)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all of them, for another table, in their order."""
        return [(place, *stored) for place, stored in self._batches.items()]

    def restore(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take what `rows` gave."""
        for place, *stored in rows:
            self._batches[place] = Stored(*stored)


class StoredBatches:
    """Batches that brokers took, until they are fetched."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.PRODUCE, apis.FETCH})
    reads_parts: ClassVar[bool] = False

    def __init__(self) -> None:
        self.table: StoredTable | native.StoredBatches = _table()

    def __getstate__(self) -> list[tuple[Any, ...]]:
        """Return rows: the native engine's table cannot be pickled."""
        return self.table.rows()

    def __setstate__(self, rows: list[tuple[Any, ...]]) -> None:
        self.table = _table()
        self.table.restore(rows)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange."""
        if view.request is None or view.response is None:
            return []
        if view.key == apis.PRODUCE:
            self._note(view.exchange)
            return []
        first = next(self._differing(view.exchange), None)
        return [] if first is None else [self._fact(view, *first)]

    def passes(self, exchange: Exchange, _parts: None) -> bool:
        """Any Produce, and a Fetch that brings what was produced. `feed` takes bodies that do not fit."""
        asked, answered = exchange.bodies()
        if asked is None or answered is None or not (asked.fits and answered.fits):
            return True
        if exchange.api_key == apis.PRODUCE:
            self._note(exchange)
            return True
        return next(self._differing(exchange), None) is None

    def _note(self, exchange: Exchange) -> None:
        taken = [
            (partition, batch)
            for partition, batch in _batches(exchange)
            if _is_comparable(batch) and batch.count
        ]
        if not taken:
            return
        given = {
            (name, number): base
            for name, rows in produce_results(exchange) or ()
            for number, error, base in rows
            if not error and base >= 0
        }
        often: dict[PartitionKey, int] = {}
        for partition, _ in taken:
            often[partition] = often.get(partition, 0) + 1
        for partition, batch in taken:
            base = given.get(partition)
            if base is not None and often[partition] == 1:
                place = place_of(exchange.connection), *partition, base
                self.table.note(place, batch.crc, _header(batch), tuple(evidence_of(exchange)))

    def _differing(self, exchange: Exchange) -> Iterator[tuple[RecordBatch, PartitionKey, Stored]]:
        """Yield batches of a Fetch whose records differ from the produced ones."""
        if not len(self.table):
            return
        for partition, batch in _batches(exchange):
            if not _is_comparable(batch):
                continue
            found = self._find(exchange.connection, *partition, batch.base_offset)
            if found is None:
                continue
            stored = Stored(*found)
            if stored.is_sure and stored.crc != batch.crc and stored.header == _header(batch):
                yield batch, partition, stored

    def _find(
        self, info: ConnectionInfo, topic: str | bytes, number: int, offset: int
    ) -> Sequence[Any] | None:
        found = self.table.find((place_of(info), topic, number, offset))
        if found is not None:
            return found
        other = other_name(info, topic)
        return None if other is None else self.table.find((place_of(info), other, number, offset))

    def _fact(self, view: ExchangeView, batch: RecordBatch, partition: PartitionKey, stored: Stored) -> Fact:
        seen = batch.base_offset, batch.producer_id, batch.producer_epoch, batch.base_sequence
        return view.fact(
            StoredFact.RECORDS_DIFFER, partition, _path(view, partition), side="response", seen=seen,
            earlier=Evidence(*stored.evidence), sure=True,
        )  # fmt: skip


def place_of(info: ConnectionInfo) -> str:
    """Return the broker of a connection."""
    return f"{info.capture_set} {info.broker_address}"


def other_name(info: ConnectionInfo, topic: str | bytes) -> str | bytes | None:
    """Return the id of a topic by its name, or the name by its id; None if it is unknown or not the only
    one.
    """
    return None if info.identities is None else info.identities.other_name(info, topic)


def _known_as(info: ConnectionInfo) -> tuple[str, str]:
    return info.id, place_of(info)


def _table() -> "StoredTable | native.StoredBatches":
    return (
        native.StoredBatches(BATCHES_KEPT, _known_as, other_name)
        if is_compiled
        else StoredTable(BATCHES_KEPT)
    )


def _batches(exchange: Exchange) -> list[tuple[PartitionKey, RecordBatch]]:
    lone = lone_batch(exchange)
    if lone is not None:
        return [(partition_of(lone.records_field), lone.batch())]
    return [
        (partition_of(field), batch)
        for field, found in record_batches(exchange)
        for batch in found.batches
        if batch.magic == CURRENT_MAGIC and batch.crc_is_right
    ]


def _is_comparable(batch: RecordBatch) -> bool:
    return batch.producer_id != NO_PRODUCER_ID and not batch.attributes & (CODEC_MASK | CONTROL)


def _header(batch: RecordBatch) -> bytes:
    return batch.data[batch.start + _HEADER.start : batch.start + _HEADER.stop]


def _path(view: ExchangeView, partition: PartitionKey) -> str:
    """Return where the records of a partition stand in the response."""
    name, number = partition
    for at, topic in enumerate(view.response.responses or ()):
        known = topic.topic_id if isinstance(name, bytes) else topic.topic
        for index, row in enumerate(topic.partitions or () if known == name else ()):
            if row.partition_index == number:
                return f"responses[{at}].partitions[{index}].records"
    return "responses"
