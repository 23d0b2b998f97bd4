"""Names that an email address in the same value shows: `Anna Muster` next to `a.muster@example.com`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.people import is_name

_CAPITAL = r"[^\W\d_a-z]"
_WORD = rf"{_CAPITAL}[^\W\d_]*(?:['\u2019-][^\W\d_]+)*"
_NAMES = re.compile(
    rf"(?<![\w@.-]){_WORD}(?:,? (?:(?:van|de|der|den|di|da|do|dos|del|la|von|zu|le|bin|al"
    rf"|af) ){{0,3}}{_WORD}){{1,3}}(?![\w@])"
)
_PARTS = re.compile(r"[^\W\d_]+")
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "\u0131": "i", "ð": "d", "þ": "th"}
)
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_SHORTEST = 3  # letters of a name that a user must have
_MOST = 20  # addresses of a value


def users_of(addresses: Iterable[str]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the users of email addresses: their letters, and the parts between other characters."""
    users = {address.partition("@")[0].lower() for address in addresses}
    return tuple(
        ("".join(parts), frozenset(parts)) for parts in map(_PARTS.findall, sorted(users)[:_MOST]) if parts
    )


def names_shown(text: str, users: Iterable[tuple[str, frozenset[str]]]) -> Iterator[Hit]:
    """Yield the names in a text of which one of the users has the first and another word, or the first
    letter of one and the other.
    """
    for found in _NAMES.finditer(text):
        words = found[0].split()
        if any(_is_of(words, user) for user in users) and is_name(found[0]):
            yield Hit(found.start(), found.end(), Kind.NAME, Confidence.LIKELY, "as an email address")


def _is_of(words: list[str], user: tuple[str, frozenset[str]]) -> bool:
    letters, parts = user
    first, *others = map(_forms, words)
    for one, other in (pair for last in others for pair in ((first, last), (last, first))):
        for plain in one:
            if len(plain) < _SHORTEST:
                continue
            has_word = plain in parts
            for beside in other:
                is_full = beside in parts or letters in (plain + beside, beside + plain)
                is_initial = beside[:1] in parts or letters in (beside[:1] + plain, plain + beside[:1])
                if (has_word and (is_full or is_initial)) or letters in (
                    plain + beside,
                    beside + plain,
                    beside[:1] + plain,
                    plain + beside[:1],
                ):
                    return True
    return False


def _forms(word: str) -> set[str]:
    """Return a word as addresses write it: without accents, with letters written out, without hyphens."""
    small = word.lower()
    made = set()
    for one in (small, small.translate(_WRITTEN_OUT)):
        plain = unicodedata.normalize("NFKD", one.translate(_LETTERS))
        letters = "".join(character for character in plain if character.isalpha() and character.isascii())
        if letters:
            made.add(letters)
    return made or {small}
