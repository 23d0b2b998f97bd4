"""The leaves of a value: texts and numbers with the path to them, and where they are in its bytes."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from typing import Any

from kdissect.personal.bounds import LONGEST_STEP, MAX_DEPTH, MAX_LEAVES
from kdissect.personal.finder import names_someone
from kdissect.personal.labels import kind_stem, named_by, named_value, value_stem
from kdissect.personal.leaf import Leaf
from kdissect.personal.telling_names import is_about_fields, is_name_of_person, of_name

MAX_PATH = 300
"""Characters of a path that are shown."""
_MAX_ESCAPES = 3  # JSON in a string of JSON
# Of a union in Avro's JSON, of types in MongoDB's (Extended JSON), in DynamoDB's and in Firestore's.
_WRAPPERS = frozenset((
    "string", "int", "long", "double", "float", "$date", "$numberLong", "$numberInt", "$numberDouble",
    "S", "N", "M", "L", "SS", "NS", "stringValue", "integerValue", "doubleValue", "timestampValue",
))  # fmt: skip
_NAME_PARTS = frozenset({"first", "last", "given", "family", "middle", "full", "formatted"})
_OF_PLANS = frozenset(
    {"nationalnumber", "national_number", "nsn", "subscribernumber", "localnumber", "linenumber"}
)  # of libphonenumber's PhoneNumber
_ADDRESSES = frozenset({"address", "parcel", "maybe_parcel"})
_LINE = re.compile(r"lines?_?\d?", re.IGNORECASE)
# Fields of an item in a list of names and values.
_LABEL = re.compile(
    r"(?:attribute|attr|field|property|prop|param|parameter|question|item|custom_?field)?_?(?:name|key|code"
    r"|label|id)"
    r"|ref|field|attribute|property|question|title|prompt|variable|var|column|col|setting|option|slot|entity"
    r"|k",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"(?:attribute|attr|field|property|prop|param|parameter|item|custom_?field)?_?(?:values?|val|content"
    r"|answers?|response|reply|text)"
    r"|(?:old|new)_?(?:value)?|v",
    re.IGNORECASE,
)
# A struct about the field whose value is next to it.
_FIELD = re.compile(
    r"(?:custom|form)?_?(?:field|question|attribute|property|column|definition)", re.IGNORECASE
)
# Of a change, if the label next to them is telling: a journey has a name, too.
_CHANGED = re.compile(r"(?:from|to)_?(?:string|value)?|before|after|previous|current|was|now", re.IGNORECASE)
_POINTER = re.compile(r"(?:/[^/]{1,80})+")  # of JSON Patch (RFC 6902)
# Values of attributes of OpenTelemetry have their type around them (OTLP, AnyValue).
_ANY_VALUE = frozenset(
    {"stringvalue", "string_value", "intvalue", "int_value", "doublevalue", "double_value"}
)
# Tables: names of columns, and lists of rows next to them.
_COLUMNS = frozenset({"columns", "headers", "header", "fields", "columnnames", "column_names"})
_ROW = frozenset({"columnvalues", "column_values", "row", "values"})  # next to names of columns
_COLUMN_NAME = re.compile(r"(?:column_?)?(?:name|label)|field|title", re.IGNORECASE)
_NEUTRAL = frozenset((
    "formatted", "date", "value", "number", "nr", "no", "text", "data", "content", "values", "items", "raw",
    "original", "e164", "international", "numero", "número", "numéro", "nummer", "numer", "num", "nro",
    "cislo",
    "číslo", "broj", "szam", "szám", "numar", "număr", "numara", "nomor", "numeris", "numurs", "номер",
    "号码", "番号", "번호", "valor", "valore", "wert", "valeur", "waarde", "wartosc", "wartość", "fecha",
    "datum",
    "dato", "tarih", "дата", "alphabetic", "ideographic", "phonetic",
    "profile", "details", "detail", "info", "information", "attributes", "properties", "traits", "fields",
    "personal", "basic", "old", "new", "before", "after", "previous", "current", "was", "now", "oldvalue",
    "newvalue", "old_value", "new_value",
))  # fmt: skip
# Attributes of DICOM's JSON (PS3.18, annex F) have their numbers as names (PS3.6, chapter 6).
_OF_DICOM = {
    "00100010": "patient name", "00100030": "birth date", "00101040": "patient address",
    "00102154": "patient phone", "00080090": "physician name", "00081050": "physician name",
    "00081070": "operator full name", "00321032": "physician name", "00101001": "other patient name",
}  # fmt: skip
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)
_BASE64 = ["base64"]
_MANY_DIGITS = re.compile(r".*\d{5}.*|[0-9a-fA-F-]{16,}|\d+", re.DOTALL)


class _Struct:
    """A struct or list that is open."""

    __slots__ = ("at", "is_list", "key", "name", "number", "outer", "path")

    def __init__(self, path: str, name: str, number: int, is_list: bool, outer: _Struct | None) -> None:
        self.outer = outer
        self.path = path
        self.name = name
        self.number = number
        self.is_list = is_list
        self.key: str | None = None
        self.at = 0
        """The place of its next value in a list."""

    def step(self) -> tuple[str, str]:
        """Return path and name of its next value."""
        if self.is_list:
            return f"{self.path}[]", self.name
        key = self.key or ""
        return f"{self.path}.{shown_step(key)}"[:MAX_PATH], full_name(key, self.name)

    def key_of_outer(self) -> str:
        """Return the name of the field that the struct is the value of."""
        return (self.outer.key or "") if self.outer is not None else ""

    def holder(self) -> _Struct:
        """Return the struct of its next value: the one around it if the value is in a wrapper."""
        return self.outer if self.outer is not None and self.key in _WRAPPERS else self


def _pointed(pointer: str) -> str:
    """Return the name of the field of a JSON Pointer, with that of its struct if it is about fields."""
    *_, holder, name = pointer.split("/")
    return f"{holder} {name}" if is_about_fields(holder) else name


def shown_step(key: str) -> str:
    """Return the step of a path for a field's name: `*` if it is data itself."""
    if len(key) > LONGEST_STEP or _MANY_DIGITS.fullmatch(key) or names_someone(key):
        return "*"
    return key if key.isprintable() and "." not in key else json.dumps(key)


def leaf_in_text(name: str, text: str, start: int, holder: int) -> Leaf:
    """Return the value of a field in a text that is a leaf itself, in which it begins at `start`."""
    path = f"$.{shown_step(name)}"[:MAX_PATH]
    return Leaf(path, name, text, False, holder, "", start, start + len(text), is_part=True, is_alone=True)


def full_name(name: str, holder_name: str) -> str:
    """Return a field's name, with that of its struct if it says little."""
    name = _OF_DICOM.get(name, name)
    plain = name.lower()
    if name in _WRAPPERS:
        return holder_name or name
    if plain in _NAME_PARTS and is_name_of_person(holder_name):
        return f"{name} name"
    if plain in _OF_PLANS and "phone" in of_name(holder_name).tags:
        return f"{holder_name} number"
    if _LINE.fullmatch(name) and of_name(holder_name).tags & _ADDRESSES:
        return f"address {name}"
    if plain in _NEUTRAL or (_LINE.fullmatch(name) and "addr" in holder_name.lower()):
        return f"{holder_name} {name}"
    return name


def json_leaves(text: str, escapes: int = 1) -> list[Leaf] | None:
    """Return the leaves of JSON's own text; None if it is no struct or list, or too deep.

    `escapes`: how many strings of JSON the text is in, itself included.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    made = _Made()
    stack: list[_Struct] = []
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in "{[":
            stack.append(made.opened(stack[-1] if stack else None, first == "["))
            if len(stack) > MAX_DEPTH:
                return None
        elif first in "}]":
            stack.pop()
        elif first == ",":
            stack[-1].key = None
            stack[-1].at += 1
        elif first != ":" and len(made.leaves) < MAX_LEAVES:
            _add_token(made, stack[-1], token, escapes)
    return made.leaves


def json_lines(text: str) -> list[Leaf] | None:
    """Return the leaves of lines that are JSON each (NDJSON); None if a line is something else."""
    if text[:1] not in ("{", "[") or "\n" not in text.strip():
        return None
    leaves: list[Leaf] = []
    holders = start = 0
    for line in text.splitlines(keepends=True):
        inside = json_leaves(line) if line.strip() else []
        if inside is None:
            return None
        leaves += [
            one._replace(start=one.start + start, end=one.end + start, holder=one.holder + holders)
            for one in inside[: MAX_LEAVES - len(leaves)]
        ]
        holders += max((one.holder for one in inside), default=0)
        start += len(line)
    return leaves


class _Made:
    """The leaves of a value while they are made."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self._numbers = 0
        self._labels: dict[int, tuple[int, str]] = {}
        """By the number of a struct: the place of its label among the leaves, and the label."""
        self._unlabelled: dict[int, list[int]] = {}
        """By the number of a struct: the places of leaves that a later label may name."""
        self._columns: dict[int, list[str]] = {}
        """By the number of a struct: the names of the columns of its table."""
        self._named_columns: set[int] = set()
        """Numbers of the structs that name a column."""
        self._first_rows: dict[int, tuple[int, list[str]]] = {}
        """By the number of a list of lists: the number of its first row, and its texts."""
        self._kinds: dict[tuple[int, str], str] = {}
        """By the number of a struct and the stem of a name: what a field such as `type` names."""
        self._values: dict[tuple[int, str], list[tuple[int, str]]] = {}
        """As `_kinds`: the places and names of leaves that a later field may name."""

    def opened(self, outer: _Struct | None, is_list: bool) -> _Struct:
        """Return a struct or list that begins in another one."""
        path, name = outer.step() if outer is not None else ("$", "")
        self._numbers += 1
        return _Struct(path, name, self._numbers, is_list, outer)

    def add(self, around: _Struct, leaf: Leaf) -> None:
        """Add the next value of a struct, under the label next to it if it has one."""
        struct = around
        if around.outer is not None and (around.is_list or (around.key or "").lower() in _ANY_VALUE):
            struct = around.outer
        key = struct.key or ""
        self._note_column(around, leaf)
        is_pointer = key == "path" and _POINTER.fullmatch(leaf.text) is not None
        if (is_pointer or _LABEL.fullmatch(key)) and not leaf.is_number and not around.is_list:
            self._add_label(struct, _pointed(leaf.text) if is_pointer else leaf.text)
        elif struct.number in self._labels and (
            _LABELLED.fullmatch(key)
            or (_CHANGED.fullmatch(key) and of_name(self._labels[struct.number][1]).tags)
        ):
            leaf = self._labelled(struct, leaf)
        elif _LABELLED.fullmatch(key) or key == "date":
            self._unlabelled.setdefault(struct.number, []).append(len(self.leaves))
        elif around.is_list:
            leaf = self._in_table(around, struct, leaf)
        if struct is around and not around.is_list and leaf.name:
            leaf = self._of_kind(around, key, leaf)
        self.leaves.append(leaf)

    def _add_label(self, struct: _Struct, label: str) -> None:
        """Note the label in a struct. It names the values before it, too, if it is telling, and those of the
        struct around a `field`: `{"text": "Anna", "field": {"ref": "first_name"}}`.
        """
        is_telling = bool(of_name(label).tags)
        is_field = _FIELD.fullmatch(struct.key_of_outer()) is not None
        labelled = struct.outer if is_field and is_telling and struct.outer is not None else struct
        known = self._labels.get(labelled.number)
        if known is None or (is_telling and not of_name(known[1]).tags):
            self._labels[labelled.number] = (len(self.leaves), label)
        if is_telling:
            outer = labelled.outer or labelled
            for at in self._unlabelled.pop(labelled.number, ()):
                one = self.leaves[at]
                if labelled is struct and one.path.endswith(".date"):
                    continue  # of an event: `{"date": ..., "name": "Birthday Sale"}`
                self.leaves[at] = one._replace(name=label, holder=outer.number, holder_name=outer.name)

    def _labelled(self, struct: _Struct, leaf: Leaf) -> Leaf:
        """Return a leaf under the label in its struct."""
        at, label = self._labels[struct.number]
        outer = struct.outer or struct
        if at < len(self.leaves):
            self.leaves[at] = self.leaves[at]._replace(name="")
        return leaf._replace(name=label, holder=outer.number, holder_name=outer.name)

    def _of_kind(self, around: _Struct, key: str, leaf: Leaf) -> Leaf:
        """Return a leaf under the name that a field next to it gives, and name those before it if it does."""
        is_inside = kind_stem(around.key_of_outer()) == ""  # {"type": {"text": "BSN"}, "value": ...}
        stem = "" if is_inside else kind_stem(key)
        if stem is not None and not leaf.is_number:
            struct = around.outer if is_inside and around.outer is not None else around
            if name := named_by(leaf.text):
                self._kinds.setdefault((struct.number, stem), name)
                for at, other in self._values.get((struct.number, stem), ()):
                    self.leaves[at] = self.leaves[at]._replace(name=named_value(other, name))
            return leaf
        place = around.number, value_stem(key)
        if place in self._kinds:
            return leaf._replace(name=named_value(key, self._kinds[place]))
        self._values.setdefault(place, []).append((len(self.leaves), key))
        return leaf

    def _note_column(self, around: _Struct, leaf: Leaf) -> None:
        """Note the name of a column: `{"columns": [{"name": ...}], "rows": [[...]]}`."""
        listed = around.outer
        if around.is_list or leaf.is_number or listed is None or not listed.is_list or listed.outer is None:
            return
        is_column = (listed.outer.key or "").lower() in _COLUMNS and around.number not in self._named_columns
        if is_column and _COLUMN_NAME.fullmatch(around.key or "") is not None:
            self._named_columns.add(around.number)
            self._columns.setdefault(listed.outer.number, []).append(leaf.text)

    def _header(self, around: _Struct, struct: _Struct, leaf: Leaf) -> list[str]:
        """Return the names in the first row of a list of lists, if the item is in another row."""
        number, names = self._first_rows.setdefault(struct.number, (around.number, []))
        if number == around.number:
            names.append("" if leaf.is_number else leaf.text)
            return []
        telling = sum(bool(of_name(name).tags) for name in names)
        return names if telling > 1 and all(names) and around.at < len(names) else []

    def _in_table(self, around: _Struct, struct: _Struct, leaf: Leaf) -> Leaf:
        """Return an item of a list with the name of its column if the list is a row."""
        if not struct.is_list:
            if (struct.key or "").lower() in _COLUMNS and not leaf.is_number:
                self._columns.setdefault(struct.number, []).append(leaf.text)
            elif (struct.key or "").lower() in _ROW and around.at < len(self._columns.get(struct.number, ())):
                name = self._columns[struct.number][around.at]
                return leaf._replace(name=name, is_item=False, holder=struct.number)
            return leaf
        names = self._columns.get(struct.outer.number if struct.outer is not None else 0)
        names = self._header(around, struct, leaf) if names is None else names
        return leaf._replace(name=names[around.at], is_item=False) if around.at < len(names) else leaf

    def add_inside(self, leaf: Leaf, escapes: int, raw: str | None) -> bool:
        """Add the leaves of JSON in a text instead of the text. Return False if it has none.

        `raw`: the characters that stand for the text in the text around it, if there is one.
        """
        if leaf.text[:1] not in ("{", "[") or escapes > _MAX_ESCAPES:
            return False
        inside = json_leaves(leaf.text, escapes)
        if inside is None:
            return False
        offsets = None if raw is None or "\\" not in raw else _offsets(raw)
        for one in inside[: MAX_LEAVES - len(self.leaves)]:
            start, end = (-1, -1) if raw is None else (one.start, one.end)
            if offsets is not None:
                start, end = offsets[start], offsets[end]
            if raw is not None:
                start, end = start + leaf.start, end + leaf.start
            path = f"{leaf.path}{one.path.removeprefix('$')}"[:MAX_PATH]
            self.leaves.append(
                one._replace(path=path, holder=one.holder + self._numbers, start=start, end=end)
            )
        self._numbers += max((one.holder for one in inside), default=0)
        return True


def _add_token(made: _Made, around: _Struct, token: re.Match[str], escapes: int) -> None:
    raw = token[0]
    is_text = raw[0] == '"'
    if not is_text and raw[0] not in "-0123456789":
        return
    start, end = token.span()
    if is_text:
        start, end, raw = start + 1, end - 1, raw[1:-1]
    written = json.loads(token[0]) if "\\" in raw else raw
    if not around.is_list and around.key is None:
        around.key = written
        made.leaves.append(
            Leaf(
                f"{around.path}.*", "", written, False, around.number, around.name, start, end, False, True,
                escapes=escapes,
            )
        )  # fmt: skip
        return
    path, name = around.step()
    holder = around.holder()
    leaf = Leaf(
        path,
        name,
        written,
        not is_text,
        holder.number,
        holder.name,
        start,
        end,
        around.is_list,
        escapes=escapes,
    )
    if not (is_text and made.add_inside(leaf, escapes + 1, raw)):
        made.add(around, leaf)


def escaped_span(raw: str, start: int, end: int, escapes: int = 1) -> tuple[int, int]:
    """Return the span in a JSON string's own text for characters of the text that it holds."""
    if "\\" not in raw:
        return start, end
    if escapes > 1:
        start, end = escaped_span(json.loads(f'"{raw}"'), start, end, escapes - 1)
    offsets = _offsets(raw)
    return offsets[start], offsets[end]


def _offsets(raw: str) -> array[int]:
    """Return the offset in a JSON string's own text of each character that it holds, and of its end."""
    return array("L", [*(found.start() for found in _ESCAPE.finditer(raw)), len(raw)])


def value_leaves(value: Any) -> list[Leaf]:
    """Return the leaves of a decoded value, for JSON."""
    if not isinstance(value, dict | list):
        is_text = isinstance(value, str)
        return [Leaf("$", "", value)] if is_text else []
    made = _Made()
    stack = [(_items(value), made.opened(None, isinstance(value, list)))]
    while stack and len(made.leaves) < MAX_LEAVES:
        items, around = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
            continue
        around.key, inner = item
        if around.key is not None:
            made.leaves.append(
                Leaf(f"{around.path}.*", "", around.key, False, around.number, around.name, is_key=True)
            )
        if isinstance(inner, dict | list):
            if len(stack) < MAX_DEPTH and not _is_bytes(inner):
                stack.append((_items(inner), made.opened(around, isinstance(inner, list))))
        elif isinstance(inner, str | int | float) and not isinstance(inner, bool):
            path, name = around.step()
            is_number = not isinstance(inner, str)
            leaf = Leaf(path, name, str(inner), is_number, around.number, around.name, is_item=around.is_list)
            if is_number or not made.add_inside(leaf, 1, None):
                made.add(around, leaf)
        around.at += 1
    return made.leaves


def _items(value: Any) -> Iterator[tuple[str | None, Any]]:
    return iter(value.items()) if isinstance(value, dict) else ((None, item) for item in value)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == _BASE64
