"""The values of SQL statements, with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.leaf import Leaf
from kdissect.personal.leaves import MAX_PATH, shown_step

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
_NEXT_ROW = re.compile(r"\s{0,9},?\s{0,9}\(")
_ASSIGNED = re.compile(rf"(?<![\w.])[\"`\[]?(?P<column>[^\W\d]\w{{0,60}})[\"`\]]?\s?=\s?{_TEXT}")
_FIRST = 1  # number of the first row


def sql_leaves(text: str) -> list[Leaf]:
    """Return the values of the first INSERT with names of columns, or of an UPDATE, in a text."""
    inserted = _INSERT.search(text)
    if inserted is not None:
        return _rows(text, inserted)
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
    names = [name.strip(' \t\r\n"`[]') for name in inserted["columns"].split(",")]
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


def _leaf(name: str, found: re.Match[str], group: str, number: int) -> Leaf:
    start, end = found.span(group)
    path = f"$.{shown_step(name)}"[:MAX_PATH]
    return Leaf(path, name, found[group], False, number, "", start, end, is_part=True, is_alone=True)
