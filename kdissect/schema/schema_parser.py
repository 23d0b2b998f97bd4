"""The text form of the schema -> model. The grammar is described in docs/schema.md.

A file is a list of blocks. A block's first line starts in column 0, its fields are indented by two spaces,
the fields of a struct by two more under the field that introduces it. `#` starts a comment.

    request FetchRequest  key 1  versions 0-18  flexible 12+
      ClusterId: string?(null)  12+ tag 0
      Topics: []FetchTopic  0+
        Topic: string  0-12 @topicName
    struct Shared
      Id: uuid  0+

Lines are cut with `partition` and `split`, not with a regular expression or a grammar library: files are
parsed while a command starts, and this costs about 8 us a line.
"""

from functools import lru_cache

from kdissect.model.errors import SchemaError
from kdissect.schema.field_tokens import TypeToken, parse_type, parse_versions
from kdissect.schema.types import (
    NO_VERSIONS,
    Array,
    Field,
    Message,
    MessageKind,
    Primitive,
    Struct,
    Type,
    Versions,
)

INDENT = 2  # spaces for each level
ENTITIES = frozenset({"topicName", "topicId", "brokerId", "groupId", "producerId", "transactionalId"})

_KINDS = {kind.value: kind for kind in MessageKind}
_PRIMITIVES = {primitive.value: primitive for primitive in Primitive}
# half of the names in a file occur in another one, too, and the whole schema has about 900
_KEPT_NAMES = 1024

_APART = {capital: f"_{chr(capital).lower()}" for capital in range(ord("A"), ord("Z") + 1)}


def parse_schema(text: str, source: str) -> list[Message]:
    """Parse one file's text into its messages, in the order of the file.

    `source` names the file in errors. Raises SchemaError (`source:line: why`) at the first wrong line.
    """
    parser = _Parser(source)
    for number, line in enumerate(text.splitlines(), 1):
        parser.feed(number, line)
    return parser.close()


class _Parser:
    """Parser of lines, one by one. `close` returns the messages."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._line = 0
        self._messages: list[Message] = []
        self._message: Message | None = None
        self._open: list[tuple[Struct, list[Field]]] = []  # one entry for each level of indentation
        self._structs: dict[str, Struct] = {}  # of the current message
        self._mentioned: dict[str, int] = {}  # struct name -> line of its first use, until it is defined
        self._unused: dict[str, int] = {}  # struct block -> its line, until a field uses it

    def feed(self, number: int, line: str) -> None:
        self._line = number
        body = line.partition("#")[0].rstrip()
        content = body.lstrip(" ")
        if not content:
            return
        level, odd = divmod(len(body) - len(content), INDENT)
        if odd:
            raise self._error(f"indented by {level * INDENT + odd} spaces, not by a multiple of {INDENT}")
        if level == 0:
            self._open_block(content.split())
            return
        if level != len(self._open):
            self._enter(level)
        self._open[-1][1].append(self._field(content))

    def close(self) -> list[Message]:
        self._finish_message()
        return self._messages

    def _error(self, why: str, line: int | None = None) -> SchemaError:
        return SchemaError(f"{self._source}:{line or self._line}: {why}")

    # Blocks

    def _open_block(self, words: list[str]) -> None:
        if words[0] == "struct":
            self._open_struct(words)
            return
        self._finish_message()
        if words[0] not in _KINDS:
            raise self._error(
                f"'{words[0]}' starts no block (request, response, header, record, payload, text, struct)"
            )
        if len(words) < 2 or len(words) % 2:
            raise self._error("a block is 'KIND NAME  key N  versions A-B  flexible C+'")
        options = dict(zip(words[2::2], words[3::2], strict=True))
        self._message = message = self._build_message(_KINDS[words[0]], words[1], options)
        self._messages.append(message)
        self._open = [(message.root, [])]

    def _build_message(self, kind: MessageKind, name: str, options: dict[str, str]) -> Message:
        key = options.pop("key", None)
        record_type = options.pop("type", None)
        try:
            versions, flexible = options.pop("versions"), options.pop("flexible")
        except KeyError as missing:
            raise self._error(f"{kind} {name} has no {missing}") from None
        if options:
            raise self._error(f"unknown word '{next(iter(options))}'")
        if (key is not None) != (kind in (MessageKind.REQUEST, MessageKind.RESPONSE)):
            raise self._error("requests and responses have a key, other blocks none")
        return Message(
            name,
            kind,
            None if key is None else self._integer(key),
            self._versions(versions),
            self._versions(flexible),
            Struct(name),
            None if record_type is None else self._integer(record_type),
        )

    def _open_struct(self, words: list[str]) -> None:
        if self._message is None:
            raise self._error("a struct belongs to the message above it, and there is none")
        if len(words) != 2:
            raise self._error("a struct block is 'struct NAME'")
        self._seal(0)
        if words[1] not in self._structs:
            self._unused[words[1]] = self._line
        self._open = [(self._define(words[1]), [])]

    def _finish_message(self) -> None:
        self._seal(0)
        for name, line in self._mentioned.items():
            raise self._error(f"struct {name} is not defined in this message", line)
        for name, line in self._unused.items():
            raise self._error(f"struct {name} is used by no field", line)
        self._message = None
        self._structs = {}

    # Structs

    def _mention(self, name: str) -> Struct:
        struct = self._structs.get(name)
        if struct is None:
            struct = self._structs[name] = Struct(name)
            self._mentioned[name] = self._line
        return struct

    def _define(self, name: str) -> Struct:
        struct = self._mention(name)
        if self._mentioned.pop(name, None) is None:
            raise self._error(f"struct {name} is defined twice in this message")
        return struct

    def _enter(self, level: int) -> None:
        """Make the innermost open struct the one whose fields are at `level`."""
        depth = len(self._open)
        if level <= depth:
            self._seal(level)
            if not self._open:
                raise self._error("a field outside of a block")
            return
        fields = self._open[-1][1] if self._open else []
        element = _element(fields[-1].type) if fields else None
        if level > depth + 1 or not isinstance(element, Struct):
            raise self._error("indented deeper, but the line above is no struct field")
        self._open.append((self._define(element.name), []))

    def _seal(self, level: int) -> None:
        """Close the structs deeper than `level`."""
        while len(self._open) > level:
            struct, fields = self._open.pop()
            struct.fields = tuple(fields)

    # Fields

    def _field(self, content: str) -> Field:
        name, colon, rest = content.partition(":")
        words = rest.split()
        if not colon or len(words) < 2:
            raise self._error("a field is 'Name: type  versions [tag N [versions]] [@annotation ...]'")
        token = self._type_token(words[0])
        versions = self._versions(words[1])
        nullable = token.nullable
        if nullable is None:
            nullable = NO_VERSIONS
        elif nullable is NO_VERSIONS:
            nullable = versions
        field = Field(
            snake_case(name), name, self._type(token), versions, nullable=nullable, default=token.default
        )
        if len(words) > 2:
            self._options(field, words)
        return field

    def _options(self, field: Field, words: list[str]) -> None:
        at = 2
        while at < len(words):
            word = words[at]
            at += 1
            if word[0] == "@":
                self._annotate(field, word[1:])
            elif word == "tag" and at < len(words):
                field.tag = self._integer(words[at])
                field.tagged = field.versions
                at += 1
                if at < len(words) and words[at][0] != "@":
                    field.tagged = self._versions(words[at])
                    at += 1
            else:
                raise self._error(f"'{word}' is neither 'tag N' nor an @annotation")

    def _annotate(self, field: Field, word: str) -> None:
        if word in ENTITIES:
            field.entity = word
        elif word == "error":
            field.is_error = True
        elif word == "secret":
            field.is_secret = True
        elif word == "configValue":
            field.is_config_value = True
        elif word.startswith("enum(") and word[-1] == ")":
            field.enum = word[5:-1]
        elif word.startswith("payload(") and word[-1] == ")":
            field.payload = word[8:-1]
        else:
            raise self._error(f"unknown annotation '@{word}'")

    def _type(self, token: TypeToken) -> Type:
        primitive = _PRIMITIVES.get(token.name)
        if primitive is None and not token.name[:1].isupper():
            raise self._error(f"unknown type '{token.name}'")
        element = primitive or self._mention(token.name)
        self._unused.pop(token.name, None)
        return Array(element) if token.is_array else element

    def _type_token(self, token: str) -> TypeToken:
        try:
            return parse_type(token)
        except ValueError as error:
            raise self._error(str(error)) from None

    def _versions(self, word: str) -> Versions:
        try:
            return parse_versions(word)
        except ValueError as error:
            raise self._error(str(error)) from None

    def _integer(self, word: str) -> int:
        try:
            return int(word)
        except ValueError:
            raise self._error(f"'{word}' is no number") from None


def _element(type_: Type) -> Primitive | Struct:
    return type_.element if isinstance(type_, Array) else type_


# Names in output: the snake_case of Apache Kafka's names, the form the protocol guide prints.
@lru_cache(maxsize=_KEPT_NAMES)
def snake_case(name: str) -> str:
    """Return the snake_case name: `ReplicaId` -> `replica_id`, `isKRaftController` -> `is_kraft_controller`.

    An underscore precedes a capital whose left neighbour is no capital
    (org.apache.kafka.message.MessageGenerator.toSnakeCase).
    """
    words = name.translate(_APART).split("_")
    if name.isascii() and "_" not in name and all(len(word) > 1 for word in words[1:-1]):
        return "_".join(words if words[0] else words[1:])  # no two adjacent capitals
    letters: list[str] = []
    after_capital = True  # no underscore at the start
    for letter in name:
        capital = letter.isupper()
        if capital and not after_capital:
            letters.append("_")
        letters.append(letter.lower())
        after_capital = capital
    return "".join(letters)


def camel_case(name: str) -> str:
    """Return an API's name from its file's name: `list_offsets` -> `ListOffsets`."""
    return "".join(word.capitalize() for word in name.split("_"))
