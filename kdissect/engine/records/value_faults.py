"""Keys and values of exchanges that the user's schemas do not allow, with their writers and readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import Row, topic_id_text
from kdissect.engine.records.poison_pills import PoisonPill, PoisonPills, Sender
from kdissect.engine.records.record_rows import RecordRows, record_topic
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.records.topic_schemas import TopicSchemas
from kdissect.engine.replica_ids import replica_id
from kdissect.serdes.schemas import Schemas
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

FETCH = 1  # org.apache.kafka.common.protocol.ApiKeys


class Names(Protocol):
    """Names of topic ids: `kdissect.history.topics.topic_names`."""

    def pass_by(self, exchange: Exchange, /) -> None:
        """Learn from an exchange."""

    def of_records(self, records: RecordSet, /) -> str | None:
        """Return the topic of records."""

    def name(self, connection: ConnectionInfo, topic_id: bytes, /) -> str | None:
        """Return the name of a topic id in the cluster of a connection."""


class ValuePlace(NamedTuple):
    """The exchange that carries a key or value, and the bytes of its records field in the frame."""

    info: ConnectionInfo
    client_id: str | None
    ordinal: int
    api_key: int
    api_version: int
    is_response: bool
    first_ref: int
    last_ref: int
    time_ns: int
    start: int
    end: int
    path: str


class _FileNumbers(Sequence[str]):
    """Files by their index: places name packets by reference."""

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: Any) -> Any:
        return str(index)


class ValueFaults:
    """Reads all keys and values with `schemas`. `pills` are those that do not fit their schema, `topics` the
    schemas of topics that do not go together.

    Replicas read no values: brokers that copy a partition are no readers of a pill. `wants` decides which
    exchanges count, with all others as their background: a reader may go on in an exchange that does not.
    """

    def __init__(
        self, schemas: Schemas, names: Names, wants: Callable[[Exchange], bool] | None = None
    ) -> None:
        self.pills = PoisonPills(self._place, self._is_reader, self._is_wanted)
        self.topics = TopicSchemas(self._place)
        self.count = 0
        """Keys and values of users' records that were read."""
        values = RecordValues(schemas, self.pills, self.topics)
        self._names = names
        self._wants = wants
        self._rows = RecordRows(_FileNumbers(), "raw", "raw", False, names.of_records, _no_text, values)
        self._now: RecordSet | None = None

    def add(self, exchange: Exchange) -> None:
        """Read the records of an exchange, and the offsets from which a client fetches."""
        self._names.pass_by(exchange)
        if exchange.api_key == FETCH and self.pills.count:
            by = _client_of(exchange)
            for topic, partition, offset in self._fetched_from(exchange):
                for pill in self.pills.of_partition(topic, partition):
                    if pill.offset is not None and offset > pill.offset:
                        pill.note_passed(by)
        for records in record_sets(exchange):
            self._now = records
            first = last = None
            for row in self._rows.rows(records, []):
                self.count += (row["key"] is not None) + (row["value"] is not None)
                last = row["offset"]
                first = last if first is None else first
            if first is not None and last is not None and self.pills.count:
                self._follow(records, first, last)
        self._now = None

    def proven(self) -> list[PoisonPill]:
        """Return the pills, except those whose id may be that of another registry, or no id at all."""
        faults = Counter((pill.topic, pill.part, pill.wire_format) for pill in self.pills.found)
        return [
            pill
            for pill in self.pills.found
            if pill.wire_format is None
            or self.topics.has_proven(
                pill.topic, pill.part, pill.wire_format, faults[pill.topic, pill.part, pill.wire_format]
            )
        ]

    def _follow(self, records: RecordSet, first: int, last: int) -> None:
        """Note for the pills of a partition which later records there are, and who receives them."""
        field, by = records.records_field, _client_of(records.exchange)
        topic = record_topic(records, self._names.of_records)
        if topic is None and field.topic_id is not None:
            topic = topic_id_text(field.topic_id)
        for pill in self.pills.of_partition(topic, field.partition):
            if pill.offset is None:
                continue
            pill.note_later(last)
            if records.is_response and first > pill.offset:
                pill.note_passed(by)
            elif records.is_response and last >= pill.offset:
                pill.note_received(by, last)

    def _fetched_from(self, exchange: Exchange) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and offset of what a Fetch names: all positions that changed."""
        asked = exchange.bodies()[0]
        for topic in () if asked is None else sent(asked.value, "topics", None) or ():
            topic_id = sent(topic, "topic_id", None)
            if topic_id is None:
                name = str(topic.topic)
            else:
                name = self._names.name(exchange.connection, bytes(topic_id)) or topic_id_text(
                    bytes(topic_id)
                )
            yield from ((name, row.partition, row.fetch_offset) for row in topic.partitions or ())

    def _is_wanted(self, _row: Row) -> bool:
        assert self._now is not None  # rows come from records
        return self._wants is None or self._wants(self._now.exchange)

    def _is_reader(self, row: Row) -> bool:
        """Return whether the client of the exchange decodes a record: it drops those before the offset from
        which it fetches, which come with their batch.
        """
        assert self._now is not None  # rows come from records
        exchange = self._now.exchange
        asked = exchange.bodies()[0] if exchange.api_key == FETCH else None
        if asked is None:
            return True
        if replica_id(asked.value) >= 0:
            return False
        place = row["topic"] or row["topic_id"], row["partition"]
        begins = (offset for *of, offset in self._fetched_from(exchange) if tuple(of) == place)
        return row["offset"] is None or row["offset"] >= next(begins, 0)

    def _place(self, _row: Row) -> ValuePlace:
        assert self._now is not None  # rows come from records
        records = self._now
        exchange, frame = records.exchange, records.frame
        assert exchange.api_key is not None
        assert exchange.api_version is not None
        field = records.records_field
        return ValuePlace(
            exchange.connection, exchange.client_id, exchange.ordinal, exchange.api_key, exchange.api_version,
            records.is_response, frame.first_ref, frame.last_ref, frame.time_ns, field.start, field.end,
            records.path(),
        )  # fmt: skip


class ValuesBySet(NamedTuple):
    """Makes what reads the keys and values of one capture set. Picklable."""

    schemas: Schemas
    names: Names

    def of(self, _capture_set: str) -> ValueFaults:
        """Return a new reader."""
        return ValueFaults(self.schemas, self.names)


def _client_of(exchange: Exchange) -> Sender:
    info = exchange.connection
    return Sender(info.principal, exchange.client_id, info.client_text)


def _no_text(_time_ns: int) -> None:
    """No column of these rows is printed."""
