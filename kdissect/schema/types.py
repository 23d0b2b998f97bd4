"""The schema in memory: messages, structs, fields, versions.

Plain classes without dataclasses: importing `dataclasses` costs more than parsing a schema file does.
"""

from enum import StrEnum
from typing import NamedTuple

NO_UPPER_BOUND = 32767  # api_version is an int16 (spec/004 "api_version (INT16)"): `4+` is 4-32767


class Versions(NamedTuple):
    """An inclusive range of versions, empty when `first > last`."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last

    def __str__(self) -> str:
        if self.first > self.last:
            return "none"
        if self.last == NO_UPPER_BOUND:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = Versions(0, -1)


class Primitive(StrEnum):
    """Primitive types of the protocol (org.apache.kafka.common.protocol.types.Type)."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"


class Struct:
    """A named sequence of fields.

    One Struct object serves all versions of its message, and every field that uses it.
    """

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: "tuple[Field, ...]" = ()) -> None:
        self.name = name
        self.fields = fields

    def __repr__(self) -> str:
        return f"Struct({self.name})"


class Array(NamedTuple):
    """An array of `element`."""

    # Not as text, which typing would compile: the first use of `compile` is 4 % of a small capture.
    element: Primitive | Struct


Type = Primitive | Array | Struct


class Field:
    """One field of a struct.

    `name` is the snake_case output name, `official_name` Apache's. On the wire in `versions`. May be null in
    `nullable`. If `tag` is not None, it is a tagged field in `tagged` (a subset of `versions`). Outside of
    `tagged`, but inside `versions`, it is an ordinary field. `default` is the value of a missing tagged field
    (None: null, uuid: 16 bytes, array: (), a struct that is not null has the defaults of its fields, and None
    here). `entity` (`topicName`, `brokerId` ...) and `enum` (name in `schema.enums`) give a value its
    meaning. `is_error` marks Kafka error codes, `is_secret` values that must never appear unmasked,
    `is_config_value` values that are secret if their config is a password (`schema.secrets`). `payload` names
    the content of the bytes (`decoders.payloads`).
    """

    __slots__ = (
        "default", "entity", "enum", "is_config_value", "is_error", "is_secret", "name", "nullable",
        "official_name", "payload", "tag", "tagged", "type", "versions",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        official_name: str,
        type: Type,  # noqa: A002  the name of the attribute
        versions: Versions,
        *,
        nullable: Versions = NO_VERSIONS,
        tag: int | None = None,
        tagged: Versions = NO_VERSIONS,
        default: object = None,
        entity: str | None = None,
        enum: str | None = None,
        is_error: bool = False,
        is_secret: bool = False,
        is_config_value: bool = False,
        payload: str | None = None,
    ) -> None:
        self.name = name
        self.official_name = official_name
        self.type = type
        self.versions = versions
        self.nullable = nullable
        self.tag = tag
        self.tagged = tagged
        self.default = default
        self.entity = entity
        self.enum = enum
        self.is_error = is_error
        self.is_secret = is_secret
        self.is_config_value = is_config_value
        self.payload = payload

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.type} {self.versions})"


class MessageKind(StrEnum):
    """Kind of a message."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    RECORD = "record"  # a value or key in an internal topic or metadata log
    PAYLOAD = "payload"  # a schema embedded in a bytes field
    TEXT = "text"  # equal, but written as text: `decoders.payloads` finds its parts, not the type


class Message:
    """One message type in all its versions. `api_key` is None except for requests and responses.

    `flexible` are the versions with compact lengths and tag sections (KIP-482). `record_type` is the number
    that names a record in its log: the type id in the metadata log's frames, the key's leading int16 in
    coordinator topics.
    """

    __slots__ = ("api_key", "flexible", "kind", "name", "record_type", "root", "versions")

    def __init__(
        self,
        name: str,
        kind: MessageKind,
        api_key: int | None,
        versions: Versions,
        flexible: Versions,
        root: Struct,
        record_type: int | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.api_key = api_key
        self.versions = versions
        self.flexible = flexible
        self.root = root
        self.record_type = record_type

    def is_flexible(self, version: int) -> bool:
        """Return whether `version` uses compact lengths and tag sections."""
        return self.flexible.first <= version <= self.flexible.last

    def __repr__(self) -> str:
        return f"Message({self.name} {self.versions})"


class Api(NamedTuple):
    """One API: its key, name (`Produce`), request and response.

    Both have the same versions; `flexible` may be read from either.
    """

    key: int
    name: str
    request: Message
    response: Message

    @property
    def versions(self) -> Versions:
        """Every version that ever shipped."""
        return self.request.versions
