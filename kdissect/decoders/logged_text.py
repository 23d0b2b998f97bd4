"""Bodies in the text form of Kafka's request log, as the objects that later releases write as JSON.

Kafka 1.0 to 2.7 print a body as `{name=value,...}` (org.apache.kafka.common.protocol.types.Struct#toString):
the fields of its version in their order, with the names of that release. Texts have no quotes, the contents
of bytes are missing, and records have their size at most. A body is read only if nothing in it is lost:
`TextFormError` names the first part that is. A text ends where the next field begins, so that a text that
contains `,NAME=` of the next field is not read right, and `null` counts as null where a field may be null.
"""

import re
from collections.abc import Callable
from typing import Any, NoReturn

from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.schema.schema_parser import snake_case
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

_NAME = re.compile(r"[a-z0-9_]+=")
_NEXT = re.compile(r",[a-z0-9_]+=")
# No longer than an int64: `int` refuses a text of thousands of digits.
_NUMBER = re.compile(r"-?\d{1,19}")
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:E-?\d+)?")
_UUID = re.compile(r"[A-Za-z0-9_-]{22}")
_BUFFER = re.compile(r"java\.nio\.\w+\[pos=(\d+) lim=(\d+) cap=\d+\]")
# FileRecords#toString and MemoryRecords#toString.
_RECORDS = re.compile(
    r"FileRecords\(size=(\d{1,10}), file=[^,]*, start=\d+, end=\d+\)"
    r"|MemoryRecords\(size=(\d{1,10}), buffer=[^()]*\)"
)
_FIXED: dict[Primitive, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    Primitive.UUID: (_UUID, str),
    Primitive.FLOAT64: (_FLOAT, float),
}
# A struct that FetchResponse has around the fields of a partition before its records, up to Kafka 2.4.
_INSIDE = "partition_header={"
_TAGS, _NULL, _TRUTHS = "_tagged_fields=", "null", {"true": True, "false": False}


class TextFormError(ValueError):
    """A body that the text form does not have in full. The message names the part."""


def text_body(message: Message, version: int, text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the body that begins at a position, and the position after it. Raises TextFormError."""
    return _Reader(Layout(message, version), text).struct(message.root, at)


class _Reader:
    def __init__(self, layout: Layout, text: str) -> None:
        self._layout = layout
        self._text = text

    def struct(self, of: Struct, start: int) -> tuple[dict[str, Any], int]:
        at = self._behind("{", start)
        found: dict[str, Any] = {}
        inside = False
        fields: list[Field | None] = list(self._layout.plain_fields(of))
        if self._layout.flexible:
            fields.append(None)  # the tags
        for number, field in enumerate(fields):
            at = self._behind(",", at) if number else at
            if field is None:
                at = self._tags(of, found, at)
                continue
            is_inside = not number and self._text.startswith(_INSIDE, at)
            name = _NAME.match(self._text, at + len(_INSIDE) if is_inside else at)
            if name is None:
                self._lost(field.name)
            behind = fields[number + 1 : number + 2]
            at = self._put(found, field, name.end(), behind)
            inside = inside or is_inside
            if inside and behind and behind[0] is not None and behind[0].type is Primitive.RECORDS:
                at, inside = self._behind("}", at), False
        return found, self._behind("}", at)

    def _put(self, found: dict[str, Any], field: Field, at: int, behind: list[Field | None]) -> int:
        if field.type is Primitive.RECORDS:
            return self._records(found, field, at)
        value, at = self._value(field, field.type, at, behind)
        found[_key(field)] = value
        return at

    def _tags(self, of: Struct, found: dict[str, Any], start: int) -> int:
        at = self._behind("{", self._behind(_TAGS, start))
        by_tag = {field.tag: field for field in self._layout.tagged_fields(of)}
        while not self._text.startswith("}", at):
            tag = _NUMBER.match(self._text, at)
            field = by_tag.get(int(tag[0])) if tag is not None else None
            if tag is None or field is None:
                self._lost("a tag")
            at = self._put(found, field, self._behind("=", tag.end()), [])
            at = at + 1 if self._text.startswith(",", at) else at
        return at + 1

    def _value(self, field: Field, kind: Type, at: int, behind: list[Field | None]) -> tuple[Any, int]:
        text = self._text
        is_text = kind is Primitive.STRING
        if self._layout.is_nullable(field) and text.startswith(_NULL, at) and not is_text:
            return None, at + len(_NULL)
        if isinstance(kind, Struct):
            return self.struct(kind, at)
        if isinstance(kind, Array):
            return self._array(field, kind.element, at)
        if is_text:
            stop = self._end_of_text(at, behind)
            content = text[at:stop]
            return None if content == _NULL and self._layout.is_nullable(field) else content, stop
        if kind is Primitive.BYTES:
            return self._bytes(field, at)
        return self._fixed(field, kind, at)

    def _fixed(self, field: Field, kind: Primitive, at: int) -> tuple[Any, int]:
        if kind is Primitive.BOOL:
            word = next((word for word in _TRUTHS if self._text.startswith(word, at)), None)
            if word is None:
                self._lost(field.name)
            return _TRUTHS[word], at + len(word)
        pattern, number = _FIXED.get(kind, (_NUMBER, int))
        match = pattern.match(self._text, at)
        if match is None or kind not in FIXED:
            self._lost(field.name)
        return number(match[0]), match.end()

    def _array(self, field: Field, element: Type, start: int) -> tuple[list[Any], int]:
        at = self._behind("[", start)
        if self._text.startswith("]", at):
            return [], at + 1
        if element is Primitive.STRING:
            stop = self._text.find("]", at)
            content = self._text[at:stop]
            # A comma is none of the characters of a topic's name. Of other texts it may be one.
            if stop < 0 or ("," in content and field.entity != "topicName"):
                self._lost(field.name)
            return content.split(","), stop + 1
        found = []
        while True:
            value, at = self._value(field, element, at, [])
            found.append(value)
            if self._text.startswith("]", at):
                return found, at + 1
            at = self._behind(",", at)

    def _bytes(self, field: Field, at: int) -> tuple[str, int]:
        match = _BUFFER.match(self._text, at)
        if match is None or match[1] != match[2]:
            self._lost(field.name)
        return "", match.end()

    def _records(self, found: dict[str, Any], field: Field, at: int) -> int:
        if self._text.startswith(_NULL, at):
            found[_key(field)] = None
            return at + len(_NULL)
        match = _RECORDS.match(self._text, at)
        if match is None:
            self._lost(field.name)
        found[f"{_key(field)}SizeInBytes"] = int(match[1] or match[2])
        return match.end()

    def _end_of_text(self, at: int, behind: list[Field | None]) -> int:
        if not behind:
            stop = self._text.find("}", at)
        else:
            following = _NEXT.search(self._text, at)
            stop = -1 if following is None else following.start()
            named = self._text.find("," + (_TAGS if behind[0] is None else f"{_printed(behind[0])}="), at)
            if named > stop >= 0 and not {"{", "}"} & set(self._text[stop:named]):
                stop = named
        if stop < 0:
            self._lost("a text")
        return stop

    def _behind(self, mark: str, at: int) -> int:
        if not self._text.startswith(mark, at):
            self._lost(f"no {mark!r} at {at}")
        return at + len(mark)

    def _lost(self, part: str) -> NoReturn:
        raise TextFormError(part)


def _key(field: Field) -> str:
    name = field.official_name
    return name[:1].lower() + name[1:]


def _printed(field: Field) -> str:
    return snake_case(field.official_name)
