"""Schemas of one topic that do not go together: ids that no schema has, two subjects, values without a
schema, and changes that readers cannot follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.poison_pills import WRITES, PlaceOf, Sender, add_client, file_and_packet
from kdissect.engine.records.schema_conflict import Conflict
from kdissect.model.wording import plural
from kdissect.serdes.reading import Reading
from kdissect.serdes.schema_ids import SURE_OF, WireFormat, schema_id

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas

MAX_TOPICS = 1000
MAX_SCHEMAS = 100  # of one topic: some 500 bytes each, and a value
_MAX_VALUE_BYTES = 1 << 14  # of the value that is kept of a schema
_NONE, _OF_TOPIC = "", "the topic's"


class SchemaUse:
    """Values of one schema, of one unknown id, or without a schema: count, first place and writers.

    `first` is the first place for people, `place` the same for the caller, and `is_write` whether it is that
    of a written record.
    """

    def __init__(self, row: Row, reading: Reading, content: bytes, place: Any) -> None:
        self.id = reading.id
        self.schema = reading.schema or ""
        self.subject = reading.subject
        self.is_unknown = reading.is_unknown
        self.wire_format = reading.wire_format
        self.is_decoded = reading.is_decoded
        self.is_of_topic = reading.is_of_topic
        self.is_by_record = False
        self.content = content if len(content) <= _MAX_VALUE_BYTES else None
        offset = "" if row["offset"] is None else f" offset {row['offset']}"
        self.first = f"{row['file']} packet {row['packet']}, partition {row['partition']}{offset}"
        self.place = place
        self.is_write = row["direction"] == WRITES
        self.writes = self.reads = self.decoded = 0
        self.writers: dict[str, Sender] = {}

    @property
    def is_proven(self) -> bool:
        """Whether the id is one of a schema: any bytes may begin as those before a value do."""
        is_sure = self.wire_format not in SURE_OF or self.is_of_topic
        return self.id is not None and bool(self.schema) and is_sure

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

    seen: dict[str, SchemaUse]
    unreadable: dict[tuple[str, str], str]


class TopicConflict(NamedTuple):
    """Schemas of a topic that do not go together.

    `of` are the keys or the values of the topic, `known` is the schema that they should go with, `why` is the
    reason why its readers cannot read others. `use` are the keys or values at fault, and `text` has all this
    for people.
    """

    conflict: Conflict
    of: str
    known: str
    why: str
    use: SchemaUse
    text: str

    def __str__(self) -> str:
        return f"{self.conflict}: {self.of}{self.text}"


class TopicSchemas:
    """Collects the schemas of topics, from rows of records. Lists of topics and schemas are bounded;
    `left_out` counts the values of others.
    """

    def __init__(self, place_of: PlaceOf = file_and_packet) -> None:
        self._place_of = place_of
        self._topics: dict[tuple[str, str], _Topic] = {}
        self.left_out = 0

    def add(
        self, row: Row, part: str, reading: Reading, content: bytes, schemas: Schemas, count: int = 1
    ) -> None:
        """Add a key or value, and the number of equal ones that follow it from the same client."""
        if reading.id is None and not reading.schema and _may_have_id(content):
            return
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
            seen = topic.seen[name] = SchemaUse(row, reading, content, self._place_of(row))
            seen.is_by_record = reading.id is not None and schemas.is_by_record(reading.id, place[0])
            if reading.is_decoded and reading.id:
                _compare(topic, seen, schemas)
        seen.add(row, count)
        if reading.is_decoded:
            seen.decoded += count

    def has_proven(self, topic: str | None, part: str, wire_format: WireFormat, faults: int) -> bool:
        """Return whether schemas decode other keys or values of a topic that have an id of this format: the
        first of an id, or no fewer than the `faults`. Few of many may fit by chance.
        """
        found, formats = self._topics.get((str(topic), part)), (wire_format, SURE_OF.get(wire_format))
        uses = () if found is None else found.seen.values()
        of_format = [one for one in uses if one.wire_format in formats]
        decoded = sum(one.decoded for one in of_format)
        return any(one.is_decoded for one in of_format) or 0 < decoded >= faults

    def conflicts(self) -> Iterator[TopicConflict]:
        """Yield the schemas that do not go together, topic by topic."""
        for (name, part), topic in self._topics.items():
            known = [one for one in topic.seen.values() if one.is_proven]
            of = f"{part}s of {name}"
            yield from _unknown(of, topic, known)
            yield from _of_other_subjects(of, f"{name}-{part}", known)
            without = topic.seen.get(_NONE)
            if known and without is not None:
                text = f" have schemas, but these have none: {without}"
                yield TopicConflict(Conflict.NO_SCHEMA, of, known[0].schema, "", without, text)
            for (reader, schema), why in topic.unreadable.items():
                one = next(one for one in known if one.schema == schema)
                text = f": a reader with {reader} cannot read {schema}: {why} ({one})"
                yield TopicConflict(Conflict.INCOMPATIBLE, of, reader, why, one, text)

    def lines(self) -> Iterator[str]:
        """Yield what is wrong, a line each."""
        yield from map(str, self.conflicts())
        if self.left_out:
            yield f"schemas of topics: {plural(self.left_out, 'key or value', 'keys or values')} left out"


def _unknown(of: str, topic: _Topic, known: list[SchemaUse]) -> Iterator[TopicConflict]:
    for one in topic.seen.values():
        if one.is_unknown and one.id and _is_sure(one, known):
            text = f": no given schema has {one.id} ({one})"
            yield TopicConflict(Conflict.UNKNOWN, of, "", "", one, text)


def _of_other_subjects(of: str, own: str, known: list[SchemaUse]) -> Iterator[TopicConflict]:
    """Yield schemas of other subjects than the topic's own, or than the first, except subjects by record."""
    by_subject: dict[str, SchemaUse] = {}
    for one in known:
        by_subject.setdefault(one.subject, one)
    by_subject.pop("", None)
    if by_subject:
        first, *others = sorted(by_subject.values(), key=lambda one: one.subject != own)
        for one in others:
            if not one.is_by_record:
                text = f": {one.schema} ({one}) and {first.schema} ({first})"
                yield TopicConflict(Conflict.TWO_SUBJECTS, of, first.schema, "", one, text)


def _compare(topic: _Topic, seen: SchemaUse, schemas: Schemas) -> None:
    """Try whether a reader with a version of the subject can read the value of the version before it.

    Schemas whose versions are unknown follow each other as their values do.
    """
    if not seen.subject or seen.id is None:
        return
    is_last = True
    for other in reversed(topic.seen.values()):
        if other is seen or not other.is_decoded or other.id is None or other.subject != seen.subject:
            continue
        step = schemas.versions_after(seen.id, other.id, seen.subject)
        if step == 1 or (step is None and is_last and other.schema != seen.schema):
            _try(topic, seen, other, schemas)
        elif step == -1:
            _try(topic, other, seen, schemas)
        is_last = False


def _try(topic: _Topic, reader: SchemaUse, writer: SchemaUse, schemas: Schemas) -> None:
    if writer.content is not None and writer.id is not None and reader.id is not None:
        why = schemas.unreadable(writer.content, writer.id, reader.id)
        if why:
            topic.unreadable[reader.schema, writer.schema] = why


def _may_have_id(content: bytes) -> bool:
    """Return whether bytes may begin with an id that no schema proves."""
    return schema_id(content, (), False, with_doubtful=True) is not None


def _is_sure(unknown: SchemaUse, known: list[SchemaUse]) -> bool:
    """Return whether an id is one: from a header, or where other values of the topic have proven ids."""
    if unknown.wire_format not in SURE_OF:
        return True
    return any(one.wire_format == SURE_OF[unknown.wire_format] for one in known)
