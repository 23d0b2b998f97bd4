"""A find of personal data: its kind, its position in a text, and how sure it is."""

from __future__ import annotations

import re
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """Kinds of personal data."""

    CREDENTIAL = "credential"
    EMAIL = "email"
    IBAN = "iban"
    CARD = "card"
    NATIONAL_ID = "national_id"
    PHONE = "phone"
    IP_ADDRESS = "ip_address"
    COORDINATES = "coordinates"
    NAME = "name"
    BIRTH_DATE = "birth_date"
    ADDRESS = "address"


class Confidence(IntEnum):
    """Levels of confidence, by the evidence (docs/personal-data.md)."""

    POSSIBLE = 1
    LIKELY = 2
    SURE = 3


class Hit(NamedTuple):
    """Characters `start` to `end` of a text. `form` says more about the kind, such as `PL PESEL`."""

    start: int
    end: int
    kind: Kind
    confidence: Confidence
    form: str = ""


MASKS = frozenset("xX*")
"""Characters of values that are masked already."""
_MASKED = re.compile(rf"[\W_{''.join(sorted(MASKS))}]*")

MASKED_WORD = re.compile(r"(?<!\w)[xX*]{3,}(?!\w)")
"""A word that is masked, in a text that is not masked as a whole."""


def is_masked(text: str) -> bool:
    """Return whether a text has a mask for each letter and digit."""
    return _MASKED.fullmatch(text) is not None


def shape(text: str, most: int) -> str:
    """Return the form of a text without its data: `x` for letters, `9` for digits, at most `most`
    characters.
    """
    made = "".join(map(_shape_of, text[:most]))
    return f"{made}..." if len(text) > most else made


def _shape_of(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character if character.isascii() and character.isprintable() else "."
