"""The user's schemas, and the keys and values that they decode."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

from kdissect.model.record_batch import Header
from kdissect.serdes.avro_program import Node
from kdissect.serdes.bounds import MAX_VALUE_BYTES
from kdissect.serdes.decoders import decoder_of, message_of, names_of, nodes_of, resolver_of
from kdissect.serdes.faults import SchemaError, ValueFaultError
from kdissect.serdes.reading import NO_READING, Reading
from kdissect.serdes.registered import Decode, Registered, SchemaType, Which
from kdissect.serdes.schema_ids import (
    SURE_OF,
    SchemaId,
    WireFormat,
    is_doubtful,
    message_indexes,
    message_reference,
    schema_id,
    uvarint,
)

_MAX_REFERENCES = 1000  # of one schema, including the references of its references
_MAX_DIGITS = 10  # of a version
_IMPORT = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"\n]+)"\s*;', re.MULTILINE)


class Reference(NamedTuple):
    """Reference to a schema, by the name in the text: a version of a subject."""

    name: str
    subject: str
    version: str


class Entry(NamedTuple):
    """A schema as a registry has it. `names` are `(space, number or GUID)` pairs, by which it is found.

    Spaces are members of `SPACES`. `subject` and `version` are empty if they are unknown.
    """

    type: SchemaType
    text: str
    where: str
    subject: str = ""
    version: str = ""
    ids: tuple[tuple[str, int | str], ...] = ()
    references: tuple[Reference, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    """Other subjects and versions that are this schema, under the same id."""

    def of_subject(self, subject: str) -> Entry:
        """Return the schema as a version of this subject, if it is one."""
        version = next((version for one, version in self.others if one == subject), "")
        return self._replace(subject=subject, version=version) if version else self

    @property
    def name(self) -> str:
        """The schema for people."""
        return (
            f"{self.subject} v{self.version}" if self.subject and self.version else self.subject or self.where
        )


NUMBER, GUID, GLOBAL_ID, CONTENT_ID = "id", "guid", "globalId", "contentId"
"""Spaces of ids: Confluent's numbers and GUIDs, Apicurio's two numbers."""

# Where ids of a format are looked up, in this order: Apicurio also answers as a Confluent registry does.
_SPACES: dict[WireFormat, tuple[str, ...]] = {
    WireFormat.MAYBE_CONFLUENT: (NUMBER, CONTENT_ID, GLOBAL_ID),
    WireFormat.CONFLUENT_HEADER: (NUMBER,),
    WireFormat.MAYBE_APICURIO: (GLOBAL_ID, CONTENT_ID, NUMBER),
    WireFormat.APICURIO_GLOBAL_ID: (GLOBAL_ID, NUMBER),
    WireFormat.APICURIO_CONTENT_ID: (CONTENT_ID, NUMBER),
}
_CONFLUENT = (WireFormat.MAYBE_CONFLUENT, WireFormat.CONFLUENT_HEADER)


class TopicSchema(NamedTuple):
    """The schema of the keys or values of topics. `topic` is a glob; `message` a Protobuf message.

    `is_reader`: the schema that a reader expects, whatever the writer's schema is.
    """

    topic: str
    is_key: bool
    entry: Entry
    message: str = ""
    is_reader: bool = False


class Plan(NamedTuple):
    """How the native engine reads keys or values with one id: their reading without the value, where they
    begin after the id, and the nodes of their schema (None: no schema describes them).
    """

    reading: Reading
    start: int
    nodes: list[Node] | None


class Source(Protocol):
    """A registry that is asked while values are read."""

    def by_id(self, space: str, value: int | str) -> Entry | None:
        """Return the schema that has an id of a space, or None. Raises SchemaError if nobody answers."""

    def by_version(self, subject: str, version: str) -> Entry | None:
        """Return a version of a subject, or None. Raises SchemaError if nobody answers."""


class Schemas:
    """Decodes keys and values. Schemas are compiled when the first value needs them.

    `neighbors` are files that only other schemas refer to. `sources` are asked for what is not in `entries`.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        topics: Sequence[TopicSchema] = (),
        neighbors: Sequence[Entry] = (),
        sources: Sequence[Source] = (),
    ) -> None:
        self._entries = list(entries)
        self._neighbors_of = tuple(neighbors)
        self._files = [entry for entry in (*self._entries, *neighbors) if not entry.version]
        self._topics = tuple(one for one in topics if not one.is_reader)
        self._readers = tuple(one for one in topics if one.is_reader)
        self._by_id: dict[tuple[str, int | str], Entry] = {}
        for entry in self._entries:
            self._by_id |= {one: _joined(self._by_id.get(one), entry) for one in entry.ids}
        self._by_version = {(entry.subject, entry.version): entry for entry in self._entries if entry.subject}
        self._sources = tuple(sources)
        self._decoders: dict[tuple[Entry, str, Entry | None], Decode | SchemaError] = {}
        self._of_topics: dict[tuple[str, bool, bool], TopicSchema | None] = {}
        self.errors: dict[str, None] = {}
        """Defects of schemas that values needed, a line each."""

    def __len__(self) -> int:
        return len(self._entries)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the same schemas in another process, where they are compiled again."""
        topics = (*self._topics, *self._readers)
        return Schemas, (self._entries, topics, self._neighbors_of, self._sources)

    def read(
        self, topic: str | None, content: bytes | None, headers: Iterable[Header], is_key: bool
    ) -> Reading:
        """Return the reading of a key or value with its schema. Raises nothing."""
        if content is None:
            return NO_READING
        found = schema_id(content, headers, is_key, with_doubtful=True)
        why = ""
        if found is not None:
            entry, why = self._entry(found)
            # The subject that serializers use by default proves an id, too (TopicNameStrategy).
            subject = f"{topic}-{'key' if is_key else 'value'}"
            entry = None if entry is None else entry.of_subject(subject)
            reader = self._reader(topic, is_key)
            reading = None if entry is None else self._by_its_id(found, entry, content, reader)
            is_proven = entry is not None and entry.subject == subject
            is_proven |= reading is not None and reading.is_decoded
            if is_doubtful(found, content) and not is_proven:
                found = reading = None
            if reading is not None and entry is not None:
                return reading._replace(is_of_topic=entry.subject == subject) if reading.is_fault else reading
        of_topic = None if topic is None else self._of_topic(topic, is_key)
        if of_topic is not None:
            return self._by_topic(found, of_topic, content, self._reader(topic, is_key))
        if found is None:
            return NO_READING
        is_guess = found.wire_format in SURE_OF
        error = why or f"no given schema has {found}{', if it is one' if is_guess else ''}"
        return Reading(found, found.wire_format, None, found.indexes, error=error, is_unknown=not why)

    def plan(self, topic: str | None, content: bytes, headers: Sequence[Header], is_key: bool) -> Plan | None:
        """Return how keys or values with the id of this one are read, if they fit; None if only `read` reads
        them. Raises nothing.

        `headers` has no other headers than one with an id.
        """
        found = schema_id(content, headers, is_key, with_doubtful=True)
        is_without = bool(headers) and (found is None or found.start > 0)  # the header is no id
        if is_without or self._reader(topic, is_key) is not None:
            return None
        if found is None:
            of_topic = None if topic is None else self._of_topic(topic, is_key)
            if of_topic is None:
                return Plan(NO_READING, 0, None)
            entry, start = of_topic.entry, 0
            reading = Reading(None, None, entry.name, is_decoded=True, subject=entry.subject)
        else:
            known = None if found.is_zlib else self._entry(found)[0]
            if known is None:
                return None
            entry, start = known.of_subject(f"{topic}-{'key' if is_key else 'value'}"), found.start
            wire_format = SURE_OF.get(found.wire_format, found.wire_format)
            reading = Reading(
                found, wire_format, entry.name, found.indexes, is_decoded=True, subject=entry.subject
            )
        try:
            nodes = nodes_of(self._registered(entry, ""))
        except SchemaError:
            return None  # `read` reports it
        return None if nodes is None else Plan(reading, start, nodes)

    def unreadable(self, content: bytes, found: SchemaId, other: SchemaId) -> str:
        """Return why a reader that has the schema of another id cannot read a value, or an empty text."""
        entry, reader = self._entry(found)[0], self._entry(other)[0]
        if entry is None or reader is None or entry.type is not reader.type:
            return ""
        try:
            if entry.type is SchemaType.JSON:
                self._after_id(found, reader, "", content, None)
                return ""
            (data, which), *_ = self._fitting(found, entry, content)
            own = self._registered(entry, "")
            if entry.type is SchemaType.AVRO:
                return resolver_of(own, self._registered(reader, ""))(data)
            # A message is known by its name: its number may be another one.
            self._decode(reader, message_of(own, which), data, None, None)
        except ValueFaultError as fault:
            return str(fault)
        except SchemaError:
            pass  # the schema is reported
        return ""

    def versions_after(self, found: SchemaId, other: SchemaId, subject: str) -> int | None:
        """Return by how many versions of a subject a schema is later than another; None if it is unknown."""
        entries = self._entry(found)[0], self._entry(other)[0]
        versions = ["" if one is None else one.of_subject(subject).version for one in entries]
        if not all(one.isdecimal() and len(one) < _MAX_DIGITS for one in versions):
            return None
        return int(versions[0]) - int(versions[1])

    def is_by_record(self, found: SchemaId, topic: str) -> bool:
        """Return whether the subject of an id is the name of a record, or of the topic and a record."""
        entry = self._entry(found)[0]
        if entry is None or not entry.subject:
            return False
        subjects = {entry.subject, *(subject for subject, _ in entry.others)}
        try:
            names = names_of(self._registered(entry, ""))
        except SchemaError:
            return False
        return any(one in subjects or f"{topic}-{one}" in subjects for one in names)

    def _by_its_id(self, found: SchemaId, entry: Entry, content: bytes, reader: Entry | None) -> Reading:
        try:
            return self._after_id(found, entry, "", content, reader)
        except (ValueFaultError, SchemaError) as fault:
            return _failed(found, entry, fault)

    def _by_topic(
        self, found: SchemaId | None, of_topic: TopicSchema, content: bytes, reader: Entry | None
    ) -> Reading:
        """Decode with the schema of a topic: the bytes after an id, else all bytes."""
        entry, message = of_topic.entry, of_topic.message
        if found is not None:
            try:
                return self._after_id(found, entry, message, content, reader)
            except (ValueFaultError, SchemaError):
                pass  # it may have no id
        try:
            value = self._decode(entry, message, content, None, reader)
        except (ValueFaultError, SchemaError) as fault:
            return _failed(found, entry, fault)._replace(is_of_topic=True)
        return Reading(None, None, entry.name, None, value, None, True, subject=entry.subject)

    def _after_id(
        self, found: SchemaId, entry: Entry, message: str, content: bytes, reader: Entry | None
    ) -> Reading:
        """Decode the bytes after an id, which proves the id. Raises ValueFaultError, or SchemaError."""
        ((_, which), value) = self._fitting(found, entry, content, message, reader)
        wire_format = SURE_OF.get(found.wire_format, found.wire_format)
        indexes = which if isinstance(which, tuple) else found.indexes
        return Reading(found, wire_format, entry.name, indexes, value, None, True, subject=entry.subject)

    def _fitting(
        self,
        found: SchemaId,
        entry: Entry,
        content: bytes,
        message: str = "",
        reader: Entry | None = None,
    ) -> tuple[tuple[bytes, Which], Any]:
        """Return the bytes after an id with the Protobuf message that they are, and their value. Raises as
        `_decode` does.
        """
        faults: list[ValueFaultError] = []
        for data, which in _payloads(found, entry.type, content):
            try:
                return (data, which), self._decode(entry, message, data, which, reader)
            except ValueFaultError as fault:
                faults.append(fault)
        raise faults[0]

    def _decode(
        self,
        entry: Entry,
        message: str,
        data: bytes,
        which: Which,
        reader: Entry | None,
    ) -> Any:
        if len(data) > MAX_VALUE_BYTES:
            raise SchemaError(f"not decoded: more than {MAX_VALUE_BYTES} bytes")
        decode = self._decoders.get((entry, message, reader))
        if decode is None:
            decode = self._compiled(entry, message, reader)
            self._decoders[entry, message, reader] = decode
        if isinstance(decode, SchemaError):
            raise decode
        return decode(data, which)

    def _compiled(self, entry: Entry, message: str, reader: Entry | None) -> Decode | SchemaError:
        try:
            schema = self._registered(entry, message)
            return decoder_of(schema, None if reader is None else self._registered(reader, ""))
        except SchemaError as error:
            self.errors[str(error)] = None
            return error

    def _registered(self, entry: Entry, message: str) -> Registered:
        references = dict(self._references(entry, set()) if entry.version else self._neighbors(entry))
        return Registered(entry.name, entry.type, entry.text, references, message)

    def _references(self, entry: Entry, seen: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield names and texts of what a schema refers to, what is needed first before it. Circles end."""
        for reference in entry.references:
            place = reference.subject, reference.version
            if place in seen or len(seen) > _MAX_REFERENCES:
                continue
            seen.add(place)
            needed = self._by_version.get(place)
            for source in self._sources if needed is None else ():
                needed = needed or source.by_version(*place)
            if needed is None:
                raise SchemaError(f"{entry.name}: {reference.subject} v{reference.version} is missing")
            yield from self._references(needed, seen)
            yield reference.name, needed.text

    def _neighbors(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Yield the schemas that a file may refer to: other files, by the ends of their paths.

        Answers name what they need.
        """
        if entry.references:
            yield from self._references(entry, set())
            return
        others = [one for one in self._files if one.type is entry.type and one != entry]
        if entry.type is not SchemaType.PROTOBUF:
            yield from ((PurePath(one.where).name, one.text) for one in others[:_MAX_REFERENCES])
            return
        wanted, seen = _IMPORT.findall(entry.text), set[str]()
        while wanted and len(seen) < _MAX_REFERENCES:
            name = wanted.pop()
            file = next(
                (one for one in others if f"/{PurePath(one.where).as_posix()}".endswith(f"/{name}")), None
            )
            if name not in seen and file is not None:
                seen.add(name)
                yield name, file.text
                wanted += _IMPORT.findall(file.text)

    def _entry(self, found: SchemaId) -> tuple[Entry | None, str]:
        """Return the schema of an id, and why it is not known whether there is one."""
        if found.guid is not None:
            places: list[tuple[str, int | str]] = [(GUID, found.guid)]
        else:
            places = [(space, found.number or 0) for space in _SPACES[found.wire_format]]
        for place in places:
            if place in self._by_id:
                return self._by_id[place], ""
        for source in self._sources if found.wire_format is not WireFormat.GLUE else ():
            for place in places:
                try:
                    entry = source.by_id(*place)
                except SchemaError as error:
                    self.errors[str(error)] = None
                    return None, str(error)
                if entry is not None:
                    return entry, ""
        return None, ""

    def _reader(self, topic: str | None, is_key: bool) -> Entry | None:
        found = None if topic is None or not self._readers else self._of_topic(topic, is_key, is_reader=True)
        return None if found is None else found.entry

    def _of_topic(self, topic: str, is_key: bool, is_reader: bool = False) -> TopicSchema | None:
        place = topic, is_key, is_reader
        if place not in self._of_topics:
            among = self._readers if is_reader else self._topics
            fits = (one for one in among if one.is_key == is_key and fnmatchcase(topic, one.topic))
            if len(self._of_topics) > _MAX_REFERENCES:
                self._of_topics.clear()
            self._of_topics[place] = next(fits, None)
        return self._of_topics[place]


def _joined(earlier: Entry | None, entry: Entry) -> Entry:
    """Return a schema with the subjects of an earlier one that has the same id and text."""
    if earlier is None or not earlier.version or (earlier.type, earlier.text) != (entry.type, entry.text):
        return entry
    return entry._replace(others=(*earlier.others, (earlier.subject, earlier.version)))


def _failed(found: SchemaId | None, entry: Entry, fault: Exception) -> Reading:
    wire_format, indexes = (None, None) if found is None else (found.wire_format, found.indexes)
    is_fault = isinstance(fault, ValueFaultError)
    return Reading(found, wire_format, entry.name, indexes, None, str(fault), False, is_fault)


def _payloads(found: SchemaId, kind: SchemaType, content: bytes) -> list[tuple[bytes, Which]]:
    """Return the bytes after the id, and the Protobuf message that they are, in each way that they may be
    read: the first that fits is right. Raises ValueFaultError.
    """
    data = content[found.start :]
    if found.is_zlib:
        data = _unpacked(data)
    if kind is not SchemaType.PROTOBUF:
        return [(data, found.indexes)]
    if found.wire_format is WireFormat.CONFLUENT_HEADER:
        return [(data, found.indexes)]
    if found.wire_format is WireFormat.GLUE:
        number = uvarint(data)
        if number is None:
            raise ValueFaultError("no number of a Protobuf message")
        return [(data[number[1] :], number[0])]
    # Apicurio's serializer has ids of four bytes as Confluent's, and the name of the message before it.
    named: list[tuple[bytes, Which]] = []
    reference = message_reference(data)
    if reference is not None:
        name, end = reference
        named.append((data[end:], name))
    read = message_indexes(data, 0)
    if found.wire_format in _CONFLUENT:
        if read is not None:
            return [*named, (data[read[1] :], read[0])]
        if not named:
            raise ValueFaultError("no Protobuf message indexes")
        return named
    return [*named, (data, found.message)]


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(data, MAX_VALUE_BYTES + 1)
    except zlib.error as error:
        raise ValueFaultError(f"not zlib: {error}") from None
    if not unpacker.eof and len(found) <= MAX_VALUE_BYTES:
        raise ValueFaultError("its zlib data is cut")
    return found
