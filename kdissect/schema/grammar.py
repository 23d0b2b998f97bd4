"""The schema for people: tables of APIs, and one version's grammar in the manner of Kafka's protocol guide.

    Fetch Request (Version: 4) => replica_id max_wait_ms min_bytes max_bytes isolation_level [topics]
      replica_id => INT32
      topics => topic [partitions]
        topic => STRING

`[x]` is an array, `x?` may be null where the type's own name does not say so (NULLABLE_STRING does), and a
flexible version ends each struct with `_tagged_fields`.
"""

from kdissect.model.wording import aligned
from kdissect.schema import protocol_messages, releases
from kdissect.schema.protocol_messages import (
    is_never_compact,
    request_header_version,
    response_header_version,
)
from kdissect.schema.types import Api, Array, Field, Message, MessageKind, Primitive, Struct, Versions

INDENT = "  "
TAGS = "_tagged_fields"
_COMPACT = frozenset({Primitive.STRING, Primitive.BYTES, Primitive.RECORDS})
_BOOLEAN = "BOOLEAN"  # the guide's word for `bool`
_OVERVIEW = ("KEY", "API", "VERSIONS", "FLEXIBLE", "SINCE", "GONE")
_VERSION_TABLE = ("VERSION", "SINCE", "REQUEST HEADER", "RESPONSE HEADER", "STATE")


def overview() -> str:
    """Return a table of all APIs: key, name, versions, flexible versions, first release, removed versions."""
    return "\n".join(aligned([_OVERVIEW, *(_overview_row(api) for api in protocol_messages.all_apis())]))


def api_overview(api: Api) -> str:
    """Return one API: a table of its versions, then the fields of its request and response with their
    versions.
    """
    history = releases.history(api.key)
    former = f", formerly {history.former_name}" if history and history.former_name else ""
    rows = [_VERSION_TABLE, *(_version_row(api, version) for version in _span(api.versions))]
    title = f"{api.name} (API key {api.key}{former})"
    table = "\n".join(aligned(rows))
    return f"{title}\n\n{table}\n\n{protocol_messages.api_source(api.key).rstrip()}"


def grammar(message: Message, version: int) -> str:
    """Return the grammar of a message's version. Raises ValueError if the message never had this version."""
    if version not in message.versions:
        raise ValueError(f"{message.name} has versions {message.versions}, not {version}")
    writer = _Writer(message, version)
    writer.write(_title(message, version), message.root, 0)
    return "\n".join(writer.lines)


class _Writer:
    """Writer of structs, depth first, each field under the line that names it."""

    def __init__(self, message: Message, version: int) -> None:
        self.lines: list[str] = []
        self._message = message
        self._version = version
        self._flexible = message.is_flexible(version)
        self._inside: list[Struct] = []  # a struct within itself is named, not written again

    def write(self, name: str, struct: Struct, level: int) -> None:
        here = [field for field in struct.fields if self._version in field.versions]
        tagged = [field for field in here if self._is_tagged(field)]
        plain = [field for field in here if not self._is_tagged(field)]
        words = [self._reference(field) for field in plain] + [TAGS] * self._flexible
        self._line(level, f"{name} => {' '.join(words)}")
        self._inside.append(struct)
        for field in plain:
            self._field(field, field.name, level + 1)
        if self._flexible:
            self._line(level + 1, f"{TAGS} => TAG_BUFFER")
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            self._field(field, f"{self._reference(field)}<tag: {field.tag}>", level + 2)
        self._inside.pop()

    def _line(self, level: int, text: str) -> None:
        self.lines.append(f"{INDENT * level}{text}".rstrip())

    def _is_tagged(self, field: Field) -> bool:
        return self._flexible and field.tag is not None and self._version in field.tagged

    def _reference(self, field: Field) -> str:
        """Return a field in its struct's line: `name`, `[name]`, `name?`."""
        if isinstance(field.type, Primitive):
            return field.name
        name = f"[{field.name}]" if isinstance(field.type, Array) else field.name
        return f"{name}?" if self._version in field.nullable else name

    def _field(self, field: Field, name: str, level: int) -> None:
        element = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(element, Primitive):
            nullable = self._version in field.nullable and not isinstance(field.type, Array)
            compact = self._flexible and element in _COMPACT and not is_never_compact(self._message, field)
            self._line(level, f"{name} => {_type_name(element, compact, nullable)}")
        elif element in self._inside:
            self._line(level, f"{name} => {element.name}")
        else:
            self.write(name, element, level)


def _type_name(primitive: Primitive, compact: bool, nullable: bool) -> str:
    if primitive is Primitive.BOOL:
        return _BOOLEAN
    return f"{'COMPACT_' if compact else ''}{'NULLABLE_' if nullable else ''}{primitive.upper()}"


def _title(message: Message, version: int) -> str:
    if message.kind in (MessageKind.REQUEST, MessageKind.RESPONSE):
        word = message.kind.capitalize()
        return f"{message.name.removesuffix(word)} {word} (Version: {version})"
    return f"{message.name} (Version: {version})"


# Tables


def _overview_row(api: Api) -> tuple[str, ...]:
    history = releases.history(api.key)
    since = history.since.get(api.versions.first, "") if history else ""
    gone = f"{history.gone} in {history.gone_in}" if history and history.gone_in else ""
    return str(api.key), api.name, str(api.versions), str(api.request.flexible), since, gone


def _version_row(api: Api, version: int) -> tuple[str, ...]:
    history = releases.history(api.key)
    return (
        str(version),
        history.since.get(version, "") if history else "",
        f"v{request_header_version(api.request, version)}",
        f"v{response_header_version(api.response, version)}",
        _state(history, version),
    )


def _state(history: releases.ApiHistory | None, version: int) -> str:
    if history is None:
        return ""
    words = ["unstable"] if version in history.unstable else []
    if version in history.gone:
        words.append(f"gone in {history.gone_in}")
    return ", ".join(words)


def _span(versions: Versions) -> range:
    return range(versions.first, versions.last + 1)
