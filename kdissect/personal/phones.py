"""Phone numbers, by the numbering plans of phonenumbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.telling_names import UNDIVIDED

_NUMBER = re.compile(
    rf"(?:(?<![\w.+/-])|(?<=[{UNDIVIDED}]))(?:\+ ?|00)?\(?\d[\d \-./()]{{4,24}}\d"
    rf"(?:(?![\w]|[-:]\d)|(?=[{UNDIVIDED}]))"
)
# Plans in which a number without a country code is looked up.
_REGIONS = (
    "US", "GB", "DE", "FR", "ES", "IT", "PL", "NL", "SE", "BR", "FI", "BE", "AT", "CH", "PT", "DK",
    "NO", "IE", "CN", "IN", "JP", "KR", "MX", "AR", "AU", "CA", "ZA", "TR", "CZ", "RO", "GR", "HU",
)  # fmt: skip
_DIGITS = range(7, 16)  # E.164 has 15 at most
_LOOKS_WRITTEN = re.compile(r"[+0(]|.*[ ()/-]")  # numbers of things have digits alone
# With 00 before the country code, and the number apart: numbers of things have zeros before them, too.
_WITH_ZEROS = re.compile(r"00[1-9]\d{0,2}[ \-./(\u00a0]")
_DATE = re.compile(
    r"(?:19|20)\d{2}[-./](?:0?[1-9]|1[0-2])[-./](?:0?[1-9]|[12]\d|3[01])(?!\d).*"
    r"|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d{2}(?![\d./-]).*"
)


def phones(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the phone numbers in a text: with a country code, or with a telling name."""
    for found in _NUMBER.finditer(text):
        start, number = found.start(), found[0]
        is_named = has_tag(start, "phone")
        is_international = number.startswith(("+", "00"))
        if not (is_named or number.startswith("+") or _WITH_ZEROS.match(number)) or _DATE.fullmatch(number):
            continue
        if sum(map(str.isdigit, number)) not in _DIGITS:
            continue
        region = _region(number, is_international)
        if region is None and not (is_named and _LOOKS_WRITTEN.match(number)):
            continue
        confidence = _confidence(number, is_named, is_international, region)
        yield Hit(start, found.end(), Kind.PHONE, confidence, region or "")


def _confidence(number: str, is_named: bool, is_international: bool, region: str | None) -> Confidence:
    # Most numbers of eight to ten digits fit some plan.
    if region is None or (region == "local" and not _LOOKS_WRITTEN.match(number)):
        return Confidence.POSSIBLE
    return Confidence.SURE if is_named and is_international else Confidence.LIKELY


def _region(number: str, is_international: bool) -> str | None:
    """Return the region of a number with a country code, `local` for one that fits a plan without it."""
    import phonenumbers  # an extra

    written = re.sub(r"^00", "+", number).replace("(0)", "")
    for region in (None,) if is_international else _REGIONS:
        try:
            parsed = phonenumbers.parse(written, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            if region is not None:
                return "local"
            return phonenumbers.region_code_for_number(parsed) or "international"
    return None
