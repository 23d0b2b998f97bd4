"""The fields of people in messages of trade and banks: EDIFACT, X12, and the payments of SWIFT (MT)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.leaf import Leaf

# By segment, and by the qualifier that is its first field if there is one: the names of fields by their
# number, counted from 1 after the segment (UN/EDIFACT D.96A; ASC X12 5010).
_EDIFACT = {
    "NAD": {3: "", 4: "full name", 5: "street"},
    "CTA": {2: "full name"},
    "COM": {1: "phone"},
    "DTM": {1: "birth date"},
}
_X12 = {
    "NM1": {3: "last name", 4: "first name", 5: "middle name"},
    "N3": {1: "street"},
    "DMG": {2: "birth date"},
    "PER": {2: "full name", 4: "phone", 6: "phone", 8: "phone"},
}
_OF_BIRTH = "329"  # qualifier of DTM: birth date
_NO_PHONES = (":EM", ":CA")  # communication channels of COM that are none
_NUMBER_OF_PERSON, _IS_SSN = 9, "34"  # NM109 and its qualifier, NM108
_PERSON = "1"  # entity type of NM1; 2 is a company
_IS_EDIFACT = re.compile(r"(?:UNA.{6}\s*)?UN[BH]\+")
_IS_X12 = re.compile(r"(?:ISA|ST)(?P<field>[*|])")
# Name and address of who orders or receives a payment (MT103, fields 50a and 59a).
_PARTY = re.compile(
    r"^:(?:50[KFH]"
    r"|59F?):(?:/[^\n]{1,40}\r?\n)?(?:1/)?(?P<name>[^\n:/]{3,35})\r?\n(?:(?:2/)?(?P<street>[^\n:]{3,35}))?",
    re.MULTILINE,
)

# The other party of an entry of an account (MT940, field 86, as German banks structure it): account and name.
_ENTRY = re.compile(r"^:86:\d{3}(?P<sign>[?+<])00", re.MULTILINE)
_PARTS_OF_ENTRY = {"31": "iban", "32": "full name"}
_PARTS = {
    sign: re.compile(rf"\{sign}(?P<code>\d\d)(?P<field>[^\{sign}\s](?:[^\{sign}\n]{{0,64}}[^\{sign}\s])?)")
    for sign in "?+<"
}
_LONGEST_ENTRY = 6 * 65  # lines and their characters


def trade_leaves(text: str) -> list[Leaf]:
    """Return the fields of people in a message; none if the text is something else."""
    if _IS_EDIFACT.match(text):
        return list(_edifact(text))
    x12 = _IS_X12.match(text)
    if x12 is not None and "~" in text:
        return list(_x12(text, x12["field"]))
    entries = list(_entries(text))
    return entries or [
        _leaf(name, text, number, *found.span(group))
        for number, found in enumerate(_PARTY.finditer(text), 1)
        for group, name in (("name", "full name"), ("street", "street"))
        if found[group]
    ]


def _entries(text: str) -> Iterator[Leaf]:
    for number, found in enumerate(_ENTRY.finditer(text), 1):
        end = text.find("\n:", found.end(), found.end() + _LONGEST_ENTRY)
        end = found.end() + _LONGEST_ENTRY if end < 0 else end
        for part in _PARTS[found["sign"]].finditer(text, found.end(), end):
            if part["code"] in _PARTS_OF_ENTRY:
                yield _leaf(_PARTS_OF_ENTRY[part["code"]], text, number, *part.span("field"))


def _segments(text: str, end: str, between: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the offset and the fields of each segment."""
    at = 0
    for segment in text.split(end):
        blanks = len(segment) - len(segment.lstrip())
        yield at + blanks, segment[blanks:].split(between)
        at += len(segment) + 1


def _edifact(text: str) -> Iterator[Leaf]:
    holder = 0
    for at, fields in _segments(text, "'", "+"):
        holder += fields[0] == "NAD"
        names = _EDIFACT.get(fields[0], {})
        for number, start, field in _placed(at, fields):
            name = names.get(number, "")
            if not name or (name == "phone" and field.endswith(_NO_PHONES)):
                continue
            is_date = fields[0] == "DTM"
            skipped = len(_OF_BIRTH) + 1 if is_date else 0
            if is_date and not field.startswith(f"{_OF_BIRTH}:"):
                continue
            value = field[skipped:].split(":")[0]
            yield _leaf(name, text, holder, start + skipped, start + skipped + len(value))


def _x12(text: str, between: str) -> Iterator[Leaf]:
    holder = 0
    for at, fields in _segments(text, "~", between):
        holder += fields[0] == "NM1"
        if fields[0] == "NM1" and fields[2:3] != [_PERSON]:
            continue
        names = _X12.get(fields[0], {})
        for number, start, field in _placed(at, fields):
            if number == _NUMBER_OF_PERSON and fields[0] == "NM1" and fields[8:9] == [_IS_SSN]:
                yield _leaf("ssn", text, holder, start, start + len(field))
            elif number in names and "@" not in field:
                yield _leaf(names[number], text, holder, start, start + len(field))
            elif fields[0] == "REF" and fields[1:2] == ["SY"] and number == 2:
                yield _leaf("ssn", text, holder, start, start + len(field))


def _placed(at: int, fields: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield number, offset and text of the fields after the name of a segment."""
    at += len(fields[0]) + 1
    for number, field in enumerate(fields[1:], 1):
        if field:
            yield number, at, field
        at += len(field) + 1


def _leaf(name: str, text: str, holder: int, start: int, end: int) -> Leaf:
    return Leaf(
        f"$.{name}", name, text[start:end], False, holder, "customer", start, end, is_part=True, is_alone=True
    )
