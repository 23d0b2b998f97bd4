"""Reads the grammars of Kafka's old protocol guides (documents 000 and 003) into signatures."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.schema.schema_layout import Signature

_BODY = re.compile(r"^(\w+) (Request|Response) \(Version: (\d+)\) =>(.*)$")
_PRODUCTION = re.compile(r"^( +)(\w+) => (.+)$")
_ARRAY = re.compile(r"^ARRAY\((\w+)\)$")
_TYPES = {
    "BOOLEAN": "bool",
    "RECORDS": "bytes",
    "NULLABLE_STRING": "nullable string",
    "NULLABLE_BYTES": "nullable bytes",
    "NULLABLE_RECORDS": "nullable bytes",
}


class Body(NamedTuple):
    """One body of a document: the API's name there, `Request` or `Response`, version and wire form."""

    api: str
    kind: str
    version: int
    signature: Signature

    def __str__(self) -> str:
        return f"{self.api} {self.kind} v{self.version}"


class _Node:
    """A production and those indented below it."""

    def __init__(self, indent: int, right: str) -> None:
        self.indent = indent
        self.right = right.split()
        self.below: dict[str, _Node] = {}


def read_bodies(text: str) -> list[Body]:
    """Return every grammar of a document whose first line names a version."""
    bodies: list[tuple[str, str, int, _Node]] = []
    open_: list[_Node] = []
    for line in text.splitlines():
        head = _BODY.match(line)
        production = _PRODUCTION.match(line)
        if head:
            open_ = [_Node(0, head[4])]
            bodies.append((head[1], head[2], int(head[3]), open_[0]))
        elif production and open_:
            node = _Node(len(production[1]), production[3])
            while open_[-1].indent >= node.indent:
                open_.pop()
            open_[-1].below[production[2]] = node
            open_.append(node)
        else:
            open_ = []
    return [Body(api, kind, version, _sequence(node)) for api, kind, version, node in bodies]


def _sequence(node: _Node) -> Signature:
    parts: list[object] = []
    for word in node.right:
        name = word.strip("[]")
        inner = _sequence(node.below[name]) if name in node.below else _primitive(word)
        parts += [("[]", inner)] if word.startswith("[") else inner
    return tuple(parts)


def _primitive(word: str) -> Signature:
    array = _ARRAY.match(word)
    if array:
        return (("[]", _primitive(array[1])),)
    if not word.isupper():
        raise ValueError(f"'{word}' has no production")
    return (_TYPES.get(word, word.lower()),)
