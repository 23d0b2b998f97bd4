"""Keys and values of records by their schemas, and the ids of schemas that records name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.model.record_batch import Record
from kdissect.serdes.reading import NO_READING, Reading
from kdissect.serdes.schema_ids import schema_id

if TYPE_CHECKING:
    from kdissect.engine.records.poison_pills import PoisonPills
    from kdissect.engine.records.topic_schemas import TopicSchemas
    from kdissect.serdes.schemas import Schemas

PARTS = ("value", "key")
"""By whether it is the key."""


class PartFacts(NamedTuple):
    """Facts about the schema of a key or value. The names are the columns' names after `key_`."""

    wire_format: str | None = None
    schema_id: int | None = None
    schema_guid: str | None = None
    message_indexes: str | None = None
    schema: str | None = None
    error: str | None = None


_NAMES = [[f"{part}_{name}" for name in PartFacts._fields] for part in PARTS]
_NOTHING = PartFacts()


def values_by(schemas: Schemas | None) -> RecordValues | None:
    """Return the decoder for tables, also of contents that no schema describes; None without schemas."""
    return None if schemas is None else RecordValues(schemas, by_content=True)


class RecordValues:
    """Works out `SCHEMA_FIELDS` of records, and what keys and values hold: with `schemas`, or by their bytes.

    From `fill`, `pills` receives values that do not fit their schema, and `topics` all values. `by_content`:
    rows have `decoded` also for contents that no schema describes.
    """

    def __init__(
        self,
        schemas: Schemas | None = None,
        pills: PoisonPills | None = None,
        topics: TopicSchemas | None = None,
        by_content: bool = False,
    ) -> None:
        self.schemas = schemas
        self._pills = pills
        self._topics = topics
        self._by_content = by_content
        self._last: tuple[Record | None, list[Reading | None]] = (None, [None, None])

    def facts(self, topic: str | None, record: Record, is_key: bool) -> PartFacts:
        """Return the facts about a record's key or value."""
        return facts_of(self._reading(topic, record, is_key))

    def decoded(self, topic: str | None, record: Record, is_key: bool) -> Any:
        """Return the content of the key or value, as a value for JSON; None if no schema applies."""
        reading = self._reading(topic, record, is_key)
        return reading.value if reading.is_decoded else _content(record, is_key)

    def fill(self, row: Row, record: Record) -> None:
        """Add the columns to a row of the record, and `decoded` if a part of it is decoded."""
        topic = row["topic"]
        for is_key in (True, False):
            reading = self._reading(topic, record, is_key)
            row.update(zip(_NAMES[is_key], facts_of(reading), strict=True))
            if reading.is_fault and self._pills is not None:
                self._pills.add(row, PARTS[is_key], reading)
            content = record.key if is_key else record.value
            if self._topics is not None and self.schemas is not None and content is not None:
                self._topics.add(row, PARTS[is_key], reading, content, self.schemas)
        self._add_decoded(row, topic, record)

    def add(self, row: Row, topic: str | None, record: Record) -> None:
        """Add `decoded`, and the columns that are not null, to what a body has of a record."""
        for is_key in (True, False):
            facts = zip(_NAMES[is_key], self.facts(topic, record, is_key), strict=True)
            row.update({name: fact for name, fact in facts if fact is not None})
        self._add_decoded(row, topic, record)

    def _add_decoded(self, row: Row, topic: str | None, record: Record) -> None:
        key, value = (self._in_row(topic, record, is_key) for is_key in (True, False))
        if key.is_decoded or value.is_decoded:
            row["decoded"] = {"key": key.value, "value": value.value}

    def _in_row(self, topic: str | None, record: Record, is_key: bool) -> Reading:
        reading = self._reading(topic, record, is_key)
        if not self._by_content or reading.is_decoded or reading.error is not None:
            return reading
        content = _content(record, is_key)
        return reading if content is None else reading._replace(value=content, is_decoded=True)

    def part(self, topic: str | None, record: Record, is_key: bool) -> tuple[str, Any] | None:
        """Return the schema of a key or value, and the value; None if no schema of the user decodes it."""
        reading = self._reading(topic, record, is_key)
        return (reading.schema or "", reading.value) if reading.is_decoded else None

    def _reading(self, topic: str | None, record: Record, is_key: bool) -> Reading:
        """Return the reading of a key or value, cached for the last record."""
        if self._last[0] is not record:
            self._last = (record, [None, None])
        known = self._last[1][is_key]
        if known is None:
            known = self._last[1][is_key] = self._read(topic, record, is_key)
        return known

    def _read(self, topic: str | None, record: Record, is_key: bool) -> Reading:
        content = record.key if is_key else record.value
        if self.schemas is not None:
            return self.schemas.read(topic, content, record.headers, is_key)
        found = schema_id(content, record.headers, is_key)
        return NO_READING if found is None else Reading(found, found.wire_format, None, found.indexes)


def facts_of(reading: Reading) -> PartFacts:
    """Return the columns of a reading."""
    found = reading.id
    if found is None and reading.schema is None:
        return _NOTHING
    indexes = None if reading.indexes is None else ",".join(map(str, reading.indexes))
    return PartFacts(
        None if reading.wire_format is None else str(reading.wire_format),
        None if found is None else found.number,
        None if found is None else found.guid,
        indexes,
        reading.schema,
        reading.error,
    )


def _content(record: Record, is_key: bool) -> Any:
    from kdissect.serdes.contents import content_of  # start-up: few filters ask for it

    return content_of(record.key if is_key else record.value)
