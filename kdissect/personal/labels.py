"""Fields of a struct that name its other fields: `{"type": "phone", "value": "..."}`."""

from __future__ import annotations

from functools import lru_cache

from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.national_ids import names_an_id
from kdissect.personal.telling_names import of_name, words_of

_KINDS = frozenset((
    "type", "kind", "system", "scheme", "channel", "medium", "category", "tipo", "typ", "art", "rodzaj",
    "soort", "tur", "code", "label", "use",
))  # fmt: skip
_VALUES = frozenset((
    "value", "number", "no", "nr", "num", "numero", "nummer", "numer", "valor", "wert", "valeur", "waarde",
    "contact", "address", "id", "identifier",
))  # fmt: skip
_SMALL = frozenset({"de", "do", "di", "du", "of", "the"})
# Fields of these a label can name. Names and addresses of people have names of their own.
_TELLING = frozenset({"phone", "email", "iban", "card", "national", "birth", "ip", "password"})


@lru_cache(MAX_LEAVES)
def kind_stem(key: str) -> str | None:
    """Return whose kind a field says: `document` for `documentType`, empty for `type`; None for others."""
    return _stem(key, _KINDS)


@lru_cache(MAX_LEAVES)
def value_stem(key: str) -> str:
    """Return whose value a field is: `document` for `documentNumber` and `document`, empty for `value`."""
    stem = _stem(key, _VALUES)
    return words_of(key) if stem is None else stem


@lru_cache(MAX_LEAVES)
def named_by(text: str) -> str:
    """Return the name that a label gives, empty if it does not say which personal data a value is.

    The last part of a URI names a scheme of identifiers: `https://fhir.nhs.uk/Id/nhs-number`.
    """
    name = text.rpartition("/")[2].rpartition(":")[2]
    return name if of_name(name).tags & _TELLING or names_an_id(name) else ""


def named_value(key: str, label: str) -> str:
    """Return the name of a field with a label: its own if the label cannot be of what such a field has."""
    words = words_of(key)
    is_id = words.rpartition(" ")[2] in ("id", "identifier")
    is_odd = is_id and not names_an_id(label) and "national" not in of_name(label).tags
    return key if is_odd or ("password" in of_name(label).tags and words != "value") else label


def _stem(key: str, words: frozenset[str]) -> str | None:
    """Return the words of a name without one that it ends or begins with; None if it has none."""
    parts = [part for part in words_of(key).split() if part not in _SMALL]
    for kept, part in ((parts[:-1], parts[-1:]), (parts[1:], parts[:1])):
        if part and part[0] in words:
            return " ".join(kept)
    return None
