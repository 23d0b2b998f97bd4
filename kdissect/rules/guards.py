"""When a rule could speak, as data: its guard.

Only what its guard marks is shown to a rule. A guard may mark more than the rule speaks of, never less. A
rule without a guard is shown everything.

The guard of a rule about exchanges, or about record batches, is a set of facts, any of which marks one
(`ExchangeFact`, `BatchFact`). That of a rule about bodies is a tuple of conditions, any of which marks one;
a body that is not canonical (`generated.canonical`) is marked by every guard: conditions are about values.

Fields are named as in the output, wherever they stand in the body, or by their path from the root, which
begins with a dot: `.topics.partitions`. A version that lacks a field has no such value. Conditions are about
the body that the rule is shown; `InRequest` is about the request of a response.
"""

from dataclasses import dataclass
from enum import IntFlag, StrEnum


class Fact(StrEnum):
    """What is not about the values of fields."""

    NOT_CANONICAL = "not canonical"
    """The bytes have another form than writers give them: nothing but what marks a body for every guard."""
    REPEATS = "repeats"
    """The request names something twice (`answer_keys`, as the next two)."""
    OTHER_RESULTS = "other results"
    """Request and response do not name the same things in the same order."""
    TWICE = "twice"
    """The response has an entry twice, of which there should be one."""
    UNKNOWN_ERROR = "unknown error"
    """An error code that the schema does not know."""
    UNKNOWN_VALUE = "unknown value"
    """A number of a closed enumeration that the schema does not know."""


@dataclass(frozen=True, slots=True)
class Below:
    """A number less than `least`."""

    fields: tuple[str, ...]
    least: int


@dataclass(frozen=True, slots=True)
class Above:
    """A number greater than `most`."""

    fields: tuple[str, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Among:
    """A number that is one of `values`."""

    fields: tuple[str, ...]
    values: frozenset[int]


@dataclass(frozen=True, slots=True)
class Other:
    """A number that is none of `values`."""

    fields: tuple[str, ...]
    values: frozenset[int]


@dataclass(frozen=True, slots=True)
class TopicId:
    """A topic id that is one of `ids`, of 16 bytes each."""

    ids: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Longer:
    """A text, bytes or records of more than so many bytes, or an array of more than so many elements."""

    fields: tuple[str, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Empty:
    """Null, or a text, bytes, records or an array of nothing."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exceeds:
    """A number greater than the one in another field of the same struct."""

    field: str
    other: str


@dataclass(frozen=True, slots=True)
class LaterThan:
    """A response later than a field of the request says in milliseconds, and so many nanoseconds more."""

    field: str
    slack_ns: int


@dataclass(frozen=True, slots=True)
class SoonerThanHalf:
    """A response that comes before half of the time that a field of the request says in milliseconds."""

    field: str


@dataclass(frozen=True, slots=True)
class LessThanAsked:
    """A response whose fields of a name have fewer bytes in all than a field of the request says."""

    field: str
    asked: str


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that does not hold anywhere in the body."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class InRequest:
    """A condition about the request, of a rule about responses."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    """Conditions that hold together, each of them somewhere in the body."""

    conditions: "tuple[Condition, ...]"


Timing = LaterThan | SoonerThanHalf | LessThanAsked
Values = Below | Above | Among | Other | TopicId | Longer | Empty | Exceeds
Condition = Fact | Values | Timing | Not | InRequest
Guard = tuple[Condition | All, ...]
NOT_CANONICAL: Guard = (Fact.NOT_CANONICAL,)


class ExchangeFact(IntFlag):
    """What guards of rules about exchanges are made of, joined by `|`: one of them marks the exchange.

    `ConnectionView.facts` says which of them are so.
    """

    ANOMALY = 1
    """The session noted something."""
    NOT_ANSWERED = 2
    """No answer came, and one was due, or the connection was closed."""
    FIRST = 4
    """The first request of its connection."""
    NO_CLIENT_ID = 8
    OTHER_CLIENT_ID = 16
    """Than the request before has."""
    ESCAPED_CLIENT_ID = 32
    """With bytes that are no UTF-8, perhaps."""
    ID_NOT_HIGHEST = 64
    """A correlation id that is not higher than all before."""
    MANY_IN_FLIGHT = 128
    """Five requests wait for their answer, or more."""
    NOT_ADVERTISED = 256
    """The broker named its versions, and not this one."""
    HEADER_TAGS = 512
    """A header that may have tags."""
    LARGE = 1024
    """A request of 512 KiB or more."""
    SHORT = 2048
    """A frame of less than 8 bytes (a request) or 4."""
    SLOW = 4096
    """An answer after 30 s or more."""
    VERSIONS_REFUSED = 8192
    """The broker refused ApiVersions in the version asked for, on this connection."""


class BatchFact(IntFlag):
    """What guards of rules about batches and records are made of, as above; `judging.batch_facts` says which
    are so. Messages of old message sets are marked by every guard.
    """

    OTHER_MAGIC = 1
    """A format that the version of the body does not carry, or not every day."""
    EARLY_ZSTD = 2
    """Compressed with zstd, in a version before it."""
    UNKNOWN_CODEC = 4
    RESERVED_BITS = 8
    APPEND_TIME = 16
    TRANSACTIONAL = 32
    CONTROL = 64
    DELETE_HORIZON = 128
    OTHER_COUNT = 256
    """Count and last offset delta do not go together."""
    BASE_OFFSET = 512
    """A produced batch that does not begin at 0."""
    BEHIND_ANOTHER = 1024
    """Not the first one of its partition."""
    OFFSET_NOT_HIGHER = 2048
    """It begins at or before the end of the batch before."""
    BEFORE_ASKED = 4096
    """It ends before the offset that was asked for."""
    OWN_TOPIC = 8192
    """One of Kafka's own, whose records have formats."""
    RECORDS = 16384
    """Records that are not canonical (`records.canonical_batch`)."""
    EPOCH_LOWER = 32768
    """A lower leader epoch than the batch before it has."""
