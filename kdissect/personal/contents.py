"""A key, value, header or name as bytes: its text, its leaves, and the bytes without personal data."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.decoders.cursor import encode_uvarint
from kdissect.personal.bounds import MAX_CONTENT, MAX_HITS, MAX_LEAVES
from kdissect.personal.finder import Found, find
from kdissect.personal.hits import Kind
from kdissect.personal.inner_texts import find_with_inner
from kdissect.personal.leaf import Leaf
from kdissect.personal.leaves import escaped_span, json_leaves, json_lines, value_leaves
from kdissect.personal.text_fields import percent_span, text_leaves

FILLER = "x"
_MAX_ROUNDS = 4
# Colours of a terminal are in texts of logs.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\x1b(?!\[)")
# Confluent's serializer of JSON Schema writes a zero byte and an id of four bytes first.
_ID_END = 5
_UTF_8, _LATIN_1 = "utf-8", "latin-1"
# Bytes that are not UTF-8 are latin-1 if few of them are beyond ASCII, and these are letters.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SHORTEST_LATIN_1, _MOST_LATIN_1 = 8, 0.3
_OPENINGS = b"{["
_DIGIT = re.compile(r"\d")
_MAX_PLACES = 100  # of the bytes of a leaf in a value that a schema decodes
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z)?")
_LONGEST_VARINT = 10
_LONGEST_INTEGER = 20  # digits of 64 bits


class Form(StrEnum):
    """How a content was read."""

    SCHEMA = "schema"
    JSON = "json"
    TEXT = "text"
    BINARY = "binary"
    """It was not examined."""
    LARGE = "too_large"
    """It was not examined."""
    CUT = "too_many"
    """It has more leaves or hits than are examined."""


Decode = Callable[[bytes], Any]
"""Returns a content's value by its schema, None if the schema does not decode it."""


class Content(NamedTuple):
    """A content and the personal data found in it.

    `text` is the part of it that is text, from byte `start` on; None if a schema decoded it.
    """

    data: bytes
    form: Form
    leaves: Sequence[Leaf] = ()
    found: Sequence[Found] = ()
    text: str | None = None
    start: int = 0
    encoding: str = _UTF_8


def examine(data: bytes, name: str = "", decode: Decode | None = None) -> Content:
    """Return the personal data in a content. `name` says what it is, such as the key of a header."""
    if len(data) > MAX_CONTENT:
        return Content(data, Form.LARGE)
    start = _ID_END if data[:1] == b"\0" and data[_ID_END : _ID_END + 1] in _OPENINGS else 0
    text, encoding = _text(data[start:])
    if text is not None:
        leaves = json_leaves(text)
        leaves = json_lines(text) if leaves is None else leaves
        if leaves is not None:
            return _found(Content(data, Form.JSON, leaves, (), text, start, encoding))
    value = None if decode is None else decode(data)
    if value is not None:
        return _found(Content(data, Form.SCHEMA, value_leaves(value)))
    if text is None or start:
        return Content(data, Form.BINARY)
    return _found(Content(data, Form.TEXT, text_leaves(text, name), (), text, 0, encoding))


def _found(content: Content) -> Content:
    found = find(content.leaves) if content.form is Form.TEXT else find_with_inner(content.leaves)
    is_cut = len(found) >= MAX_HITS or len(content.leaves) >= MAX_LEAVES
    return content._replace(found=found, form=Form.CUT if is_cut else content.form)


def _text(data: bytes) -> tuple[str | None, str]:
    """Return bytes as text, and its encoding; None if they are none."""
    plain = data.rstrip(b"\0")  # programs in C may write the zero at the end
    try:
        text, encoding = plain.decode(_UTF_8), _UTF_8
    except UnicodeDecodeError:
        text, encoding = plain.decode(_LATIN_1), _LATIN_1
        letters = _NOT_ASCII.findall(text)
        if len(text) < _SHORTEST_LATIN_1 or len(letters) > len(text) * _MOST_LATIN_1:
            return None, encoding
        if not all(map(str.isalpha, letters)):
            return None, encoding
    return (None if _CONTROL.search(text) else text), encoding


def masked(content: Content, decode: Decode | None = None) -> bytes:
    """Return the bytes of a content without the personal data found in it, of the same length.

    A content that cannot be examined as a whole is filled, but for binary ones. So is one whose hits cannot
    be replaced alone. Without what hid it, the remaining text may look personal: it is examined again.
    """
    for _ in range(_MAX_ROUNDS):
        if not content.found or content.form in (Form.LARGE, Form.CUT):
            break
        name = content.leaves[0].name if content.form is Form.TEXT else ""
        content = examine(_masked_once(content, decode), name, decode)
    is_whole = not content.found and content.form not in (Form.LARGE, Form.CUT)
    return content.data if is_whole else filled(content.data)


def _masked_once(content: Content, decode: Decode | None) -> bytes:
    if content.text is not None:
        return _masked_text(content)
    made = None if decode is None else _masked_value(content, decode)
    return filled(content.data) if made is None else made


def filled(data: bytes) -> bytes:
    """Return as many bytes of filler."""
    return FILLER.encode() * len(data)


def _masked_text(content: Content) -> bytes:
    text = content.text or ""
    out = bytearray(content.data)
    for leaf, hit in content.found:
        if leaf.is_number:
            first, end = leaf.start, leaf.end
            data = _zeros(text[first:end]).encode()
        else:
            raw = text[leaf.start : leaf.end]
            first, end = _span(leaf, raw, hit.start, hit.end)
            first, end = leaf.start + first, leaf.start + end
            data = filled(text[first:end].encode(content.encoding))
        at = content.start + (first if text.isascii() else len(text[:first].encode(content.encoding)))
        out[at : at + len(data)] = data
    return bytes(out)


def _span(leaf: Leaf, raw: str, start: int, end: int) -> tuple[int, int]:
    """Return the span in a leaf's own text for characters of the text that it stands for."""
    if leaf.escapes:
        return escaped_span(raw, start, end, leaf.escapes)
    return percent_span(raw, start, end) if leaf.is_part and raw != leaf.text else (start, end)


def _zeros(number: str) -> str:
    """Return a number of JSON of the same length that is nobody's: `10.000` for `48.137`."""
    return _DIGIT.sub("1", _DIGIT.sub("0", number), count=1)


# Of values that a schema decodes, the bytes are found by trying. Decoding again shows that only they change.
def _masked_value(content: Content, decode: Decode) -> bytes | None:
    data = content.data
    by_leaf: dict[int, list[Found]] = {}
    for one in sorted(content.found, key=lambda one: one.leaf.is_key):  # names of fields change paths: last
        by_leaf.setdefault(id(one.leaf), []).append(one)
    for found in by_leaf.values():
        made = _without(data, found, decode)
        if made is None:
            return None
        data = made
    return data


def _without(data: bytes, found: list[Found], decode: Decode) -> bytes | None:
    """Return the bytes with a leaf masked, of which all other leaves decode as before."""
    leaf = found[0].leaf
    before = _counted(decode(data), leaf.is_key)
    for old, new in _encodings(found):
        for at in _places(data, old):
            tried = data[:at] + new + data[at + len(old) :]
            after = _counted(decode(tried), leaf.is_key)
            gone, come = list((before - after).elements()), list((after - before).elements())
            if gone == [_place_of(leaf, leaf.is_key)] and [path for path, _ in come] == [gone[0][0]]:
                return tried
    return None


def _counted(value: Any, by_text: bool) -> Counter[tuple[str, str]]:
    """Return path and text of each leaf. Protobuf's JSON has zeros after other fields: their order differs.

    `by_text`: without paths, which have the names of fields.
    """
    return Counter(_place_of(leaf, by_text) for leaf in value_leaves(value))


def _place_of(leaf: Leaf, by_text: bool) -> tuple[str, str]:
    return "" if by_text else leaf.path, leaf.text


def _places(data: bytes, old: bytes) -> Iterator[int]:
    at = data.find(old)
    for _ in range(_MAX_PLACES):
        if at < 0:
            return
        yield at
        at = data.find(old, at + 1)


def _encodings(found: list[Found]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes that a leaf may have, and those to be put there."""
    leaf = found[0].leaf
    if not leaf.is_number:
        raw = bytearray(leaf.text.encode())
        for _, hit in found:
            first, end = (len(leaf.text[:place].encode()) for place in (hit.start, hit.end))
            raw[first:end] = filled(bytes(raw[first:end]))
        yield leaf.text.encode(), bytes(raw)
        if leaf.text.isdecimal() and len(leaf.text) <= _LONGEST_INTEGER:  # Protobuf's JSON has them as text
            yield from _integers(int(leaf.text))
        if found[0].hit.kind is Kind.BIRTH_DATE:
            for moment in _moments(leaf.text):
                yield from _integers(moment)
    elif leaf.text.lstrip("-").isdigit():
        yield from _integers(int(leaf.text))
    else:
        number = float(leaf.text)
        for layout in ("<d", "<f", ">d", ">f"):
            yield struct.pack(layout, number), bytes(struct.calcsize(layout))


def _moments(text: str) -> Iterator[int]:
    """Yield the numbers that logical types of Avro write for a date or time."""
    found = _DAY.fullmatch(text)
    if found is None:
        return
    days = date(int(found[1]), int(found[2]), int(found[3])).toordinal() - date(1970, 1, 1).toordinal()
    yield days
    if found[4] is not None:
        seconds = days * 86_400 + int(found[4]) * 3_600 + int(found[5]) * 60 + int(found[6])
        yield from (seconds * scale for scale in (1_000, 1_000_000, 1_000_000_000))


def _integers(number: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield encodings of an integer, and of zero in as many bytes."""
    for value in (number << 1 if number >= 0 else ~(number << 1), number & (1 << 64) - 1):
        varint = encode_uvarint(value)
        if len(varint) <= _LONGEST_VARINT:
            yield varint, b"\x80" * (len(varint) - 1) + b"\0"
    # In the order of Avro and Protobuf, then of MessagePack and CBOR.
    for layout, bits in (("<q", 63), ("<i", 31), (">q", 63), (">i", 31), (">h", 15)):
        if -(1 << bits) <= number < 1 << bits:
            yield struct.pack(layout, number), bytes(struct.calcsize(layout))
