"""When a rule could speak, as data: its guard.

A rule only receives subjects that its guard marks. A guard may mark more than the rule speaks of, never less.
That of an `exact` rule (`kinds.BodyRule`) marks just these. A rule without a guard receives every subject.

The guard of a rule about exchanges, or about record batches, is a set of facts, any of which marks one
(`ExchangeFact`, `BatchFact`). The guard of a rule about bodies is a tuple of conditions, any of which marks
one. A body that is not canonical (`generated.canonical`) is marked by every guard, because conditions are
about values.

Fields are named as in the output, wherever they stand in the body, or by their path from the root, which
begins with a dot: `.topics.partitions`. A version that lacks a field has no such value. Conditions are about
the rule's own body; `InRequest` is about the request of a response.
"""

from enum import IntFlag, StrEnum


class Fact(StrEnum):
    """Conditions that are not about the values of fields."""

    NOT_CANONICAL = "not canonical"
    """The bytes have another form than writers give them: only what marks a body for every guard."""
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


class _Condition:
    """Identified by its values, and immutable. A plain class: `dataclasses` takes 20 ms of start-up."""

    __slots__: tuple[str, ...] = ()

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()!r}"


class Below(_Condition):
    """A number less than `least`."""

    __slots__ = ("fields", "least")

    def __init__(self, fields: tuple[str, ...], least: int) -> None:
        self.fields = fields
        self.least = least


class Above(_Condition):
    """A number greater than `most`."""

    __slots__ = ("fields", "most")

    def __init__(self, fields: tuple[str, ...], most: int) -> None:
        self.fields = fields
        self.most = most


class Among(_Condition):
    """A number that is one of `values`."""

    __slots__ = ("fields", "values")

    def __init__(self, fields: tuple[str, ...], values: frozenset[int]) -> None:
        self.fields = fields
        self.values = values


class Other(_Condition):
    """A number outside of `values`."""

    __slots__ = ("fields", "values")

    def __init__(self, fields: tuple[str, ...], values: frozenset[int]) -> None:
        self.fields = fields
        self.values = values


class OutOfDomain(_Condition):
    """A number outside the domain (`schema.domains`) of its field, which has one of these meanings."""

    __slots__ = ("meanings",)

    def __init__(self, meanings: frozenset[str]) -> None:
        self.meanings = meanings


class TopicId(_Condition):
    """A topic id that is one of `ids`, of 16 bytes each."""

    __slots__ = ("ids",)

    def __init__(self, ids: frozenset[bytes]) -> None:
        self.ids = ids


class Longer(_Condition):
    """A text, bytes or records of more than `most` bytes, or an array of more than `most` elements."""

    __slots__ = ("fields", "most")

    def __init__(self, fields: tuple[str, ...], most: int) -> None:
        self.fields = fields
        self.most = most


class Empty(_Condition):
    """Null, or a text, bytes, records or an array of nothing."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields


class Exceeds(_Condition):
    """A number greater than the one in another field of the same struct."""

    __slots__ = ("field", "other")

    def __init__(self, field: str, other: str) -> None:
        self.field = field
        self.other = other


class Needs(_Condition):
    """A number below 0 in a struct whose other field has a number of 0 or more."""

    __slots__ = ("field", "other")

    def __init__(self, field: str, other: str) -> None:
        self.field = field
        self.other = other


class LaterThan(_Condition):
    """A response later than a field of the request says in milliseconds, plus `slack_ns`."""

    __slots__ = ("field", "slack_ns")

    def __init__(self, field: str, slack_ns: int) -> None:
        self.field = field
        self.slack_ns = slack_ns


class SoonerThanHalf(_Condition):
    """A response that comes after its request, and before half of the time, in milliseconds, that a field of
    the request says.
    """

    __slots__ = ("field",)

    def __init__(self, field: str) -> None:
        self.field = field


class LessThanAsked(_Condition):
    """A response whose fields of a name have fewer bytes in all than a field of the request says."""

    __slots__ = ("asked", "field")

    def __init__(self, field: str, asked: str) -> None:
        self.field = field
        self.asked = asked


class Not(_Condition):
    """A condition that does not hold anywhere in the body."""

    __slots__ = ("condition",)

    def __init__(self, condition: "Condition") -> None:
        self.condition = condition


class InRequest(_Condition):
    """A condition about the request, of a rule about responses."""

    __slots__ = ("condition",)

    def __init__(self, condition: "Condition") -> None:
        self.condition = condition


class InMessage(_Condition):
    """A condition about the bodies of one message, of a rule about several."""

    __slots__ = ("condition", "message")

    def __init__(self, message: str, condition: "Condition") -> None:
        self.message = message
        self.condition = condition


class All(_Condition):
    """Conditions that hold together, each of them somewhere in the body."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: "tuple[Condition, ...]") -> None:
        self.conditions = conditions


Timing = LaterThan | SoonerThanHalf | LessThanAsked
Values = Below | Above | Among | Other | OutOfDomain | TopicId | Longer | Empty | Exceeds | Needs
Condition = Fact | Values | Timing | Not | InRequest | InMessage
Guard = tuple[Condition | All, ...]
NOT_CANONICAL: Guard = (Fact.NOT_CANONICAL,)


class ExchangeFact(IntFlag):
    """Parts of guards for rules about exchanges, joined by `|`: one of them marks the exchange.

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
    """A correlation id that is not higher than all before. A Java client, or one without a software name, may
    number a request before it sends later ones: then the request before, or one in flight, has the id.
    """
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
    """The broker refused ApiVersions in a version asked for, on this connection, and this is another
    ApiVersions or what follows the refused one.
    """
    LATE = 16384
    """An answer after 100 ms or more."""


class BatchFact(IntFlag):
    """Parts of guards for rules about batches and records, as above; `judging.batch_facts` determines the
    facts of a batch. Messages of old message sets are marked by every guard.
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
    """It ends before the offset that the request names."""
    OWN_TOPIC = 8192
    """One of Kafka's own, whose records have formats."""
    RECORDS = 16384
    """Records that are not canonical (`records.canonical_batch`)."""
    EPOCH_LOWER = 32768
    """A lower leader epoch than the batch before it has."""
    EPOCH_HIGHER = 65536
    """A higher leader epoch than the request says that the leader has."""
