"""Schemas of one topic that do not go together: ids that no schema has, two subjects, values without a
schema, and changes that readers cannot follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.poison_pills import WRITES, add_client
from kdissect.model.wording import plural
from kdissect.serdes.reading import Reading
from kdissect.serdes.schema_ids import SURE_OF

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas

MAX_TOPICS = 1000
MAX_SCHEMAS = 100  # of one topic: some 500 bytes each, and a value
_MAX_VALUE_BYTES = 1 << 14  # of the value that is kept of a schema
_NONE, _OF_TOPIC = "", "the topic's"


class _Seen:
    """Values of one schema, of one unknown id, or without a schema: count, first place and writers."""

    def __init__(self, row: Row, reading: Reading, content: bytes) -> None:
        self.id = reading.id
        self.schema = reading.schema or ""
        self.subject = reading.subject
        self.is_unknown = reading.is_unknown
        self.wire_format = reading.wire_format
        self.content = content if len(content) <= _MAX_VALUE_BYTES else None
        offset = "" if row["offset"] is None else f" offset {row['offset']}"
        self.first = f"{row['file']} packet {row['packet']}, partition {row['partition']}{offset}"
        self.writes = self.reads = 0
        self.writers: dict[str, None] = {}

    def add(self, row: Row, count: int) -> None:
        """Count values."""
        if row["direction"] != WRITES:
            self.reads += count
            return
        self.writes += count
        add_client(self.writers, row)

    def __str__(self) -> str:
        counts = [
            f"{count} {verb}" for count, verb in ((self.writes, "written"), (self.reads, "read")) if count
        ]
        by = f", by {', '.join(self.writers)}" if self.writers else ""
        return f"{' and '.join(counts)}{by}; first {self.first}"


class _Topic(NamedTuple):
    """Facts about the keys or the values of a topic. `unreadable`: schemas, and the reason."""

    seen: dict[str, _Seen]
    unreadable: dict[tuple[str, str], str]


class TopicSchemas:
    """Collects the schemas of topics, from rows of records. Lists of topics and schemas are bounded;
    `left_out` counts the values of others.
    """

    def __init__(self) -> None:
        self._topics: dict[tuple[str, str], _Topic] = {}
        self.left_out = 0

    def add(
        self, row: Row, part: str, reading: Reading, content: bytes, schemas: Schemas, count: int = 1
    ) -> None:
        """Add a key or value, and the number of equal ones that follow it from the same client."""
        place = str(row["topic"] or row["topic_id"]), part
        topic = self._topics.get(place)
        if topic is None:
            if len(self._topics) >= MAX_TOPICS:
                self.left_out += count
                return
            topic = self._topics[place] = _Topic({}, {})
        name = str(reading.id) if reading.id else _OF_TOPIC if reading.schema else _NONE
        seen = topic.seen.get(name)
        if seen is None:
            if len(topic.seen) >= MAX_SCHEMAS:
                self.left_out += count
                return
            seen = topic.seen[name] = _Seen(row, reading, content)
            if reading.is_decoded and reading.id:
                _compare(topic, seen, schemas)
        seen.add(row, count)

    def lines(self) -> Iterator[str]:
        """Yield what is wrong, a line each."""
        for (name, part), topic in self._topics.items():
            found = list(topic.seen.values())
            known = [one for one in found if one.schema and one.id]
            of = f"{part}s of {name}"
            for one in found:
                if one.is_unknown and one.id and _is_sure(one, known):
                    yield f"unknown schema: {of}: no given schema has {one.id} ({one})"
            by_subject = {one.subject: one for one in reversed(known) if one.subject}
            if len(by_subject) > 1:
                first, *others = reversed(by_subject.values())
                for one in others:
                    yield f"two subjects: {of}: {one.schema} ({one}) and {first.schema} ({first})"
            without = topic.seen.get(_NONE)
            if known and without is not None:
                yield f"no schema: {of} have schemas, but these have none: {without}"
            for (reader, schema), why in topic.unreadable.items():
                one = next(one for one in known if one.schema == schema)
                yield f"incompatible schema: {of}: a reader with {reader} cannot read {schema}: {why} ({one})"
        if self.left_out:
            yield f"schemas of topics: {plural(self.left_out, 'key or value', 'keys or values')} left out"


def _compare(topic: _Topic, seen: _Seen, schemas: Schemas) -> None:
    """Try whether readers with the schema before this one can read it, and the reverse."""
    earlier = next(
        (one for one in reversed(topic.seen.values()) if one is not seen and one.id and one.schema), None
    )
    if earlier is None or earlier.id is None or seen.id is None or earlier.schema == seen.schema:
        return
    for reader, one in ((earlier, seen), (seen, earlier)):
        if reader.id is not None and one.id is not None and one.content is not None:
            why = schemas.unreadable(one.content, one.id, reader.id)
            if why:
                topic.unreadable[reader.schema, one.schema] = why


def _is_sure(unknown: _Seen, known: list[_Seen]) -> bool:
    """Return whether an id is one: from a header, or where other values of the topic have proven ids."""
    if unknown.wire_format not in SURE_OF:
        return True
    return any(one.wire_format == SURE_OF[unknown.wire_format] for one in known)
