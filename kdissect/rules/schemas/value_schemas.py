"""Rules: keys and values that do not fit their schema, and schemas of a topic that do not go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from kdissect.engine.records.schema_conflict import Conflict
from kdissect.model.finding import Claim, Level
from kdissect.rules.kinds import SchemaRule, ValueViolation

if TYPE_CHECKING:
    from kdissect.engine.records.poison_pills import PoisonPill, Sender
    from kdissect.engine.records.topic_schemas import TopicConflict
    from kdissect.engine.records.value_faults import ValueFaults


def _names(clients: Iterable[Sender]) -> str:
    return ", ".join(map(str, clients))


class PoisonedValue(SchemaRule):
    """A key or value must fit the schema that it names.

    A consumer that cannot decode a record stops at its offset, unless it skips it. An id counts if its schema
    has the subject of the topic, or if schemas decode other values of the topic with such ids.

    Example: a value with the id of `orders-value`, cut after 3 bytes.

    What to do: correct the producer. Have consumers put records aside that they cannot decode, or set the
    group's offset after the record.
    """

    code = "SCH001"
    name = "value-does-not-fit-schema"
    cites = ("KIP-334 Motivation", "SERDES Wire format")

    def check(self, values: ValueFaults) -> Iterator[ValueViolation]:
        """Yield each key or value, with its writers and readers."""
        for pill in values.proven():
            expected = f"{pill.part}s of {pill.topic} that fit {pill.schema}"
            by = f"; written by {_names(pill.writers.values())}" if pill.writers else ""
            yield ValueViolation(pill.place, expected, f"{pill.at}: {pill.error}{by}", _readers(pill))


def _readers(pill: PoisonPill) -> str:
    """Return who received a pill, and whether records after it."""
    stopped = pill.stopped
    went_on = [reader for reader in pill.readers.values() if reader not in stopped]
    parts = [f"read by {_names(went_on)}"] if went_on else []
    if stopped:
        parts.append(f"read by {_names(stopped)}, which never fetched from a later offset")
    return "; ".join(parts)


class _ConflictRule(SchemaRule):
    """Base of rules about the schemas of a topic."""

    level = Level.SHOULD
    claim = Claim.DIFFERS
    conflict: ClassVar[Conflict]

    def check(self, values: ValueFaults) -> Iterator[ValueViolation]:
        """Yield the schemas, with the number of their keys and values."""
        for found in values.topics.conflicts():
            if found.conflict is self.conflict:
                use = found.use
                by = f"; written by {_names(use.writers.values())}" if use.writers else ""
                times = use.writes if use.is_write else use.reads
                yield ValueViolation(use.place, self.expected(found), f"{self.seen(found)}{by}", times=times)

    def expected(self, found: TopicConflict) -> str:
        """Return the schema that the keys or values should have."""
        raise NotImplementedError

    def seen(self, found: TopicConflict) -> str:
        """Return the schema that they have."""
        raise NotImplementedError


class UnknownSchemaId(_ConflictRule):
    """The registry should have the schema of each id.

    Consumers cannot decode a value whose schema they do not get. The registry is the one that `--schemas`
    names. If it is a copy, it may be older than the value. An id that only a zero byte suggests counts if
    schemas decode other values of the topic.

    Example: values with the ids 2 and 999, and a registry that has 2.

    What to do: see which registry the producer is configured for.
    """

    code = "SCH002"
    name = "schema-id-is-unknown"
    cites = ("SERDES Wire format",)
    conflict = Conflict.UNKNOWN

    def expected(self, found: TopicConflict) -> str:
        """Return the ids that the registry has."""
        return f"{found.of} with ids that the given schemas have"

    def seen(self, found: TopicConflict) -> str:
        """Return the id."""
        return str(found.use.id)


class TwoSubjects(_ConflictRule):
    """Values of a topic have schemas of one subject, unless records of several types are intended.

    Producers with the default `TopicNameStrategy` use the subject of the topic. `RecordNameStrategy` allows
    several: a subject that is the name of its record, or of the topic and the record, is no finding.

    Example: values of `orders` with the schemas `orders-value v1` and `users-value v3`.

    What to do: see whether the second producer writes to the wrong topic.
    """

    code = "SCH003"
    name = "two-subjects-in-topic"
    level = Level.INFO
    cites = ("SERDES Subject name strategy",)
    conflict = Conflict.TWO_SUBJECTS

    def expected(self, found: TopicConflict) -> str:
        """Return the first subject."""
        return f"{found.of} with schemas of the subject of {found.known}"

    def seen(self, found: TopicConflict) -> str:
        """Return the other subject."""
        return found.use.schema


class ValueWithoutSchema(_ConflictRule):
    """Values of a topic with schemas should have a schema, too.

    Consumers that expect the id of a schema refuse bytes without one.

    Example: text among values with ids.

    What to do: give the producer the serializer of the other producers.
    """

    code = "SCH004"
    name = "value-without-schema"
    cites = ("SERDES Wire format",)
    conflict = Conflict.NO_SCHEMA

    def expected(self, found: TopicConflict) -> str:
        """Return the schema of the others."""
        return f"{found.of} with the id of a schema, as that of {found.known}"

    def seen(self, found: TopicConflict) -> str:
        """Return that there is none."""
        return "no id of a schema"


class IncompatibleChange(_ConflictRule):
    """A reader with a version of a schema should read what was written with the version before.

    This is the compatibility BACKWARD, the default of Confluent's registry. The capture has a value of the
    version before, and a reader with the later version cannot read it: Avro's schema resolution fails,
    Protobuf's parser refuses the bytes, or the value does not fit the JSON Schema. kdissect tries the first
    value of each version. Readers with the version before need not read later values.

    Example: version 2 has a field without a default, and its readers cannot read values of version 1.

    What to do: give a new field a default, and set the compatibility of the subject in the registry. A
    subject with the compatibility FORWARD allows such a change.
    """

    code = "SCH005"
    name = "schema-change-is-incompatible"
    cites = ("AVRO Schema Resolution",)
    conflict = Conflict.INCOMPATIBLE

    def expected(self, found: TopicConflict) -> str:
        """Return the schema of the reader."""
        return f"{found.of} that a reader with {found.known} can read"

    def seen(self, found: TopicConflict) -> str:
        """Return the schema of the value, and the reason."""
        return f"{found.use.schema}: {found.why}"
