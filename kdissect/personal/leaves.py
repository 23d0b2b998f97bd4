"""The leaves of a value: texts and numbers with the path to them, and where they are in its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from kdissect.personal.bounds import MAX_DEPTH, MAX_LEAVES
from kdissect.personal.finder import names_someone
from kdissect.personal.leaf import Leaf

_MAX_PATH = 300  # characters of a path that are shown
_NEUTRAL = frozenset({"value", "number", "nr", "no", "text", "data", "content", "string", "values", "items"})
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)
# Fields in a text: an element of XML, or a name, an equals sign and a value, in quotes or without.
_FIELD = re.compile(
    r"<(?P<element>[A-Za-z_][\w.:-]{0,60})(?:\s[^<>]{0,200})?>(?P<content>[^<>]{2,200})</(?P=element)>"
    r"|(?:(?<=[\s&?;,{(|])|^)(?P<key>[A-Za-z_][\w.-]{0,60})="
    r"(?:\"(?P<quoted>[^\"\\]{2,200})\"|'(?P<single>[^'\\]{2,200})'|(?P<bare>[^\s&;,\"'<>|]{2,200}))"
)
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})|.", re.DOTALL)
_BASE64 = ["base64"]
_MANY_DIGITS = re.compile(r".*\d{5}.*|[0-9a-fA-F-]{16,}|\d+", re.DOTALL)
_LONGEST_STEP = 64


class _Struct:
    """A struct or list that is open."""

    __slots__ = ("is_list", "key", "name", "number", "path")

    def __init__(self, path: str, name: str, number: int, is_list: bool) -> None:
        self.path = path
        self.name = name
        self.number = number
        self.is_list = is_list
        self.key: str | None = None

    def step(self) -> tuple[str, str]:
        """Return path and name of its next value."""
        if self.is_list:
            return f"{self.path}[]", self.name
        key = self.key or ""
        return f"{self.path}.{shown_step(key)}"[:_MAX_PATH], key


def shown_step(key: str) -> str:
    """Return the step of a path for a field's name: `*` if it is data itself."""
    if len(key) > _LONGEST_STEP or _MANY_DIGITS.fullmatch(key) or names_someone(key):
        return "*"
    return key if key.isprintable() and "." not in key else json.dumps(key)


def full_name(name: str, holder_name: str) -> str:
    """Return a field's name, with that of its struct if it says little."""
    return f"{holder_name} {name}" if name.lower() in _NEUTRAL else name


def json_leaves(text: str) -> list[Leaf] | None:
    """Return the leaves of JSON's own text; None if it is no struct or list, or too deep."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves: list[Leaf] = []
    stack: list[_Struct] = []
    number = 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in "{[":
            number += 1
            stack.append(_inner(stack, number, first == "["))
            if len(stack) > MAX_DEPTH:
                return None
        elif first in "}]":
            stack.pop()
        elif first == ",":
            stack[-1].key = None
        elif first != ":" and len(leaves) < MAX_LEAVES:
            leaf = _of_token(stack[-1], token)
            if leaf is not None:
                leaves.append(leaf)
    return leaves


def _inner(stack: list[_Struct], number: int, is_list: bool) -> _Struct:
    path, name = stack[-1].step() if stack else ("$", "")
    return _Struct(path, name, number, is_list)


def _of_token(around: _Struct, token: re.Match[str]) -> Leaf | None:
    raw = token[0]
    is_text = raw[0] == '"'
    if not is_text and raw[0] not in "-0123456789":
        return None
    start, end = token.span()
    if is_text:
        start, end = start + 1, end - 1
    if not around.is_list and around.key is None:
        around.key = json.loads(raw) if "\\" in raw else raw[1:-1]
        return Leaf(
            f"{around.path}.*", "", around.key, False, around.number, around.name, start, end, False, True
        )
    written = (json.loads(raw) if "\\" in raw else raw[1:-1]) if is_text else raw
    path, name = around.step()
    name = full_name(name, around.name)
    return Leaf(path, name, written, not is_text, around.number, around.name, start, end, around.is_list)


def text_leaves(text: str, name: str) -> list[Leaf]:
    """Return a text as a leaf, and the fields inside of it: of query strings, logfmt and XML."""
    leaves = [Leaf("$", name, text, start=0, end=len(text))]
    for found in _FIELD.finditer(text):
        group = found.lastgroup or ""
        key = found["element"] or found["key"]
        start, end = found.span(group)
        raw = found[group]
        written = unquote(raw) if group == "bare" and "%" in raw else raw
        path = f"$.{shown_step(key)}"[:_MAX_PATH]
        leaves.append(Leaf(path, key, written, start=start, end=end, is_part=True))
        if len(leaves) >= MAX_LEAVES:
            break
    return leaves


def percent_span(raw: str, start: int, end: int) -> tuple[int, int]:
    """Return the span in a text with percent codes for characters of the text that it stands for."""
    ends = [0]
    pending, at = b"", 0
    for found in _PERCENT.finditer(raw):
        at = found.end()
        if found[1] is None:
            ends.append(at)
            continue
        pending += bytes.fromhex(found[1])
        try:
            pending.decode()
        except UnicodeDecodeError:
            continue
        pending = b""
        ends.append(at)
    return (ends[start], ends[end]) if end < len(ends) else (0, len(raw))


def escaped_span(raw: str, start: int, end: int) -> tuple[int, int]:
    """Return the span in a JSON string's own text for characters of the text that it holds."""
    if "\\" not in raw:
        return start, end
    spans = [found.span() for found in _ESCAPE.finditer(raw)]
    return spans[start][0], spans[end - 1][1]


def value_leaves(value: Any) -> list[Leaf]:
    """Return the leaves of a decoded value, for JSON."""
    if not isinstance(value, dict | list):
        is_text = isinstance(value, str)
        return [Leaf("$", "", value)] if is_text else []
    leaves: list[Leaf] = []
    numbers = iter(range(1, 1 << 62))
    stack: list[tuple[Iterator[tuple[str | None, Any]], _Struct]] = [_opened(value, "$", "", next(numbers))]
    while stack and len(leaves) < MAX_LEAVES:
        items, around = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
            continue
        around.key, inner = item
        if around.key is not None:
            leaves.append(
                Leaf(f"{around.path}.*", "", around.key, False, around.number, around.name, is_key=True)
            )
        path, name = around.step()
        if isinstance(inner, dict | list):
            if len(stack) < MAX_DEPTH and not _is_bytes(inner):
                stack.append(_opened(inner, path, name, next(numbers)))
        elif isinstance(inner, str | int | float) and not isinstance(inner, bool):
            named = full_name(name, around.name)
            is_number = not isinstance(inner, str)
            leaves.append(
                Leaf(path, named, str(inner), is_number, around.number, around.name, is_item=around.is_list)
            )
    return leaves


def _opened(
    value: Any, path: str, name: str, number: int
) -> tuple[Iterator[tuple[str | None, Any]], _Struct]:
    if isinstance(value, dict):
        return iter(value.items()), _Struct(path, name, number, False)
    return ((None, item) for item in value), _Struct(path, name, number, True)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == _BASE64
