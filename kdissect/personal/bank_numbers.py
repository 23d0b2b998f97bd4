"""IBANs and card numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kdissect.personal.hits import Confidence, Hit, Kind

_IBAN = re.compile(
    r"(?<![\w-])[A-Z]{2}\d{2}(?:[ .-]?[A-Z0-9]{4}){2,7}(?:[ .-]?[A-Z0-9]{1,4})?(?![\w-])", re.IGNORECASE
)
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-]|\.\d)")
_GROUPED = re.compile(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5}|\d{4}([ -])\d{6}\3\d{4}")
# The end of a card's life after its number.
_EXPIRES = re.compile(
    r"[^\w\n]{1,3}(?i:(?:exp\w{0,9}|valid(?: thru| until)?|g[üu]ltig bis|bis|cad\w{0,7}|scad\w{0,6}"
    r"|val(?:idade)?)\W{1,3})?"
    r"(?:0[1-9]|1[0-2]) ?[/-] ?(?:20)?[2-4]\d(?!\d)"
)
_MAESTRO = "Maestro"  # a tenth of all numbers
# First digits and lengths of issuers (ISO/IEC 7812).
_ISSUERS = (
    ("Visa", re.compile(r"4(?:\d{12}|\d{15}|\d{18})")),
    ("Mastercard", re.compile(r"(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}")),
    ("American Express", re.compile(r"3[47]\d{13}")),
    ("Discover", re.compile(r"6(?:011\d{2}|4[4-9]\d{3}|5\d{4})\d{10}(?:\d{3})?")),
    ("JCB", re.compile(r"(?:2131|1800)\d{11}|35(?:2[89]|[3-8]\d)\d{12}(?:\d{3})?")),
    ("Diners Club", re.compile(r"(?:30[0-5]|36\d|38\d|39\d)\d{11}")),
    ("UnionPay", re.compile(r"62\d{14}(?:\d{3})?")),
    (_MAESTRO, re.compile(r"(?:50|5[6-8]|6\d)\d{10,17}")),
)


def ibans(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the IBANs in a text: with the length of their country and right check digits."""
    from stdnum import iban  # an extra

    for found in _IBAN.finditer(text):
        start, number = found.start(), _longest(found[0], iban.is_valid)
        # In small letters, hashes may look like one with letters.
        is_usual = number.isupper() or re.sub(r"[ .-]", "", number[2:]).isdigit()
        if number and (is_usual or has_tag(start, "iban")):
            yield Hit(start, start + len(number), Kind.IBAN, Confidence.SURE, number[:2].upper())


def _longest(text: str, is_valid: Callable[..., bool]) -> str:
    """Return the text, without words after the IBAN that look like a group of it; empty if it is none."""
    while len(text) >= 15:
        if is_valid(text, check_country=False):
            return text
        text, space, _ = text.rpartition(" ")
        if not space:
            break
    return ""


def cards(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the card numbers in a text: of an issuer, with a right check digit (Luhn)."""
    from stdnum import luhn  # an extra

    for found in _CARD.finditer(text):
        number = found[0].replace(" ", "").replace("-", "")
        issuer = next((name for name, digits in _ISSUERS if digits.fullmatch(number)), None)
        if issuer is None or not luhn.is_valid(number) or len(set(number)) == 1:  # a filler
            continue
        is_named = has_tag(found.start(), "card") or _EXPIRES.match(text, found.end()) is not None
        if is_named or (_GROUPED.fullmatch(found[0]) and issuer != _MAESTRO):
            confidence = Confidence.SURE if is_named else Confidence.LIKELY
            yield Hit(found.start(), found.end(), Kind.CARD, confidence, issuer)
