"""The values of SQL statements, with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.leaf import Leaf
from kdissect.personal.leaves import leaf_in_text

_TABLE = r"[\w.\"`\[\]]{1,200}"
_INSERT = re.compile(
    rf"\b(?:INSERT|insert)\s{{1,9}}(?:INTO|into)\s{{1,9}}{_TABLE}\s{{0,9}}\((?P<columns>[^()]{{1,4000}})\)"
    r"\s{0,9}(?:VALUES|values)\s{0,9}(?=\()"
)
_UPDATE = re.compile(rf"\b(?:UPDATE|update)\s{{1,9}}{_TABLE}\s{{1,9}}(?:SET|set)\s")
# A quote in a text is written twice.
_TEXT = r"N?'(?P<text>(?:[^']|''){0,2000})'"
_VALUE = re.compile(
    rf"\s{{0,9}}(?:{_TEXT}|(?P<number>-?\d[\d.]{{0,40}})|[^,()']{{0,200}})\s{{0,9}}(?P<end>[,)])"
)
_COPY = re.compile(
    rf"\b(?:COPY|copy)\s{{1,9}}{_TABLE}\s{{0,9}}\((?P<columns>[^()]{{1,4000}})\)\s{{0,9}}(?:FROM"
    rf"|from)\s{{1,9}}"
    r"(?:STDIN|stdin)[^\n]{0,200}\n"
)
_NULL = r"\N"  # of COPY
_NEXT_ROW = re.compile(r"\s{0,9},?\s{0,9}\(")
_ASSIGNED = re.compile(rf"(?<![\w.])[\"`\[]?(?P<column>[^\W\d]\w{{0,60}})[\"`\]]?\s?=\s?{_TEXT}")
_FIRST = 1  # number of the first row


def sql_leaves(text: str) -> list[Leaf]:
    """Return the values of the first INSERT or COPY with names of columns, or of an UPDATE, in a text."""
    inserted = _INSERT.search(text)
    if inserted is not None:
        return _rows(text, inserted)
    copied = _COPY.search(text)
    if copied is not None:
        return _copied(text, copied)
    updated = _UPDATE.search(text)
    return (
        [] if updated is None else [_leaf(one["column"], one, "text", _FIRST) for one in _set(text, updated)]
    )


def _set(text: str, updated: re.Match[str]) -> Iterator[re.Match[str]]:
    for number, found in enumerate(_ASSIGNED.finditer(text, updated.end())):
        if number >= MAX_LEAVES:
            return
        yield found


def _rows(text: str, inserted: re.Match[str]) -> list[Leaf]:
    names = _columns(inserted)
    leaves: list[Leaf] = []
    at, number = inserted.end(), _FIRST
    while (opening := _NEXT_ROW.match(text, at)) is not None and len(leaves) < MAX_LEAVES:
        at = opening.end()
        for name in names:
            found = _VALUE.match(text, at)
            if found is None:  # a call of a function, or a text that is cut
                return leaves
            if found["text"] or found["number"]:  # others are NULL, TRUE, parameters
                leaves.append(_leaf(name, found, "text" if found["text"] else "number", number))
            at = found.end()
            if found["end"] == ")":
                break
        number += 1
    return leaves


def _copied(text: str, copied: re.Match[str]) -> list[Leaf]:
    """Return the rows after a COPY of PostgreSQL, whose values tabs separate."""
    names = _columns(copied)
    leaves: list[Leaf] = []
    at = copied.end()
    for number, line in enumerate(text[at:].splitlines(keepends=True), _FIRST):
        values = line.rstrip("\r\n").split("\t")
        if len(values) != len(names) or len(leaves) >= MAX_LEAVES:
            break
        start = at
        for name, value in zip(names, values, strict=True):
            if value and value != _NULL:
                leaves.append(leaf_in_text(name, value, start, number))
            start += len(value) + 1
        at += len(line)
    return leaves


def _columns(found: re.Match[str]) -> list[str]:
    return [name.strip(' \t\r\n"`[]') for name in found["columns"].split(",")]


def _leaf(name: str, found: re.Match[str], group: str, number: int) -> Leaf:
    return leaf_in_text(name, found[group], found.start(group), number)
