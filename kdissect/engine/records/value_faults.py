"""Keys and values of exchanges that the user's schemas do not allow, with their writers and readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import Row, topic_id_text
from kdissect.engine.records.poison_pills import PoisonPill, PoisonPills, Sender
from kdissect.engine.records.record_rows import RecordRows, TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.records.topic_schemas import TopicSchemas
from kdissect.serdes.schemas import Schemas
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

FETCH = 1  # org.apache.kafka.common.protocol.ApiKeys


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

    Replicas read no values: brokers that copy a partition are no readers of a pill.
    """

    def __init__(self, schemas: Schemas, topic_name: TopicNames) -> None:
        self.pills = PoisonPills(self._place, self._is_reader)
        self.topics = TopicSchemas(self._place)
        self.count = 0
        """Keys and values of users' records that were read."""
        values = RecordValues(schemas, self.pills, self.topics)
        self._topic_name = topic_name
        self._rows = RecordRows(_FileNumbers(), "raw", "raw", False, topic_name, _no_text, values)
        self._now: RecordSet | None = None

    def add(self, exchange: Exchange) -> None:
        """Read the records of an exchange."""
        for records in record_sets(exchange):
            self._now = records
            first = last = None
            for row in self._rows.rows(records, []):
                self.count += (row["key"] is not None) + (row["value"] is not None)
                last = row["offset"]
                first = last if first is None else first
            if first is not None and last is not None and self.pills.count:
                self._follow(records, first, last)

    def proven(self) -> list[PoisonPill]:
        """Return the pills, except those whose id may be that of another registry, or no id at all."""
        return [
            pill
            for pill in self.pills.found
            if pill.wire_format is None or self.topics.has_proven(pill.topic, pill.part, pill.wire_format)
        ]

    def _follow(self, records: RecordSet, first: int, last: int) -> None:
        """Note for the pills of a partition that there are later records, and who receives them alone."""
        field, exchange = records.records_field, records.exchange
        topic = record_topic(records, self._topic_name)
        if topic is None and field.topic_id is not None:
            topic = topic_id_text(field.topic_id)
        info = exchange.connection
        by = Sender(info.principal, exchange.client_id, info.client_text)
        for pill in self.pills.of_partition(topic, field.partition):
            if pill.offset is not None and last > pill.offset:
                pill.is_followed = True
                if records.is_response and first > pill.offset:
                    pill.note_passed(by)

    def _is_reader(self) -> bool:
        """Return whether the client of the exchange decodes what it gets."""
        assert self._now is not None  # rows come from records
        exchange = self._now.exchange
        asked = exchange.bodies()[0] if exchange.api_key == FETCH else None
        if asked is None:
            return True
        state = getattr(asked.value, "replica_state", None)
        return int(getattr(asked.value if state is None else state, "replica_id", -1)) < 0

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


def _no_text(_time_ns: int) -> None:
    """No column of these rows is printed."""
