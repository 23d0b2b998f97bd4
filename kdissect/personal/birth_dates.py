"""Birth dates: as texts, as numbers, and after words in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.months import months_of
from kdissect.personal.telling_names import UNDIVIDED

_TIME = r"(?:[T ]\d{2}:\d{2}\S{0,20})?"
_DIGITS_OF_DAY = re.compile(rf"(?P<year>\d{{4}})[-/.]?(?P<month>\d{{2}})[-/.]?(?P<day>\d{{2}}){_TIME}")
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?:[-/.] ?|\. ?|[年년] ?)(?P<month>\d{1,2})(?:[-/.] ?|[月월] ?)(?P<day>\d{1,2})[.日일]?"
)
_DAY_FIRST = re.compile(r"(\d{1,2})[-/. ]{1,2}(\d{1,2})[-/. ]{1,2}(\d{4}|\d{2})\.?")
_NAME_OF_MONTH = r"[^\W\d_]{3,14}"
_OF = r"(?: (?:de|di|of))?"  # `3 de febrero de 1980`
_WITH_MONTH = re.compile(
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|°)?{_OF}[-/. ]{{1,2}})?(?P<name>{_NAME_OF_MONTH}){_OF}[-/., "
    rf"]{{1,2}}"
    r"(?:(?P<after>\d{1,2})(?:st|nd|rd|th)?,? )?(?P<year>\d{4})(?: ?\u0433\.?)?"
)
# As programs print a moment: `Sun Feb 03 1980 00:00:00 GMT+0100`, `Sun, 03 Feb 1980 00:00:00 +0000`.
_PRINTED = re.compile(
    rf"[A-Za-z]{{3,9}},? (?P<date>{_NAME_OF_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}} {_NAME_OF_MONTH} \d{{4}})"
    r"(?: \d{2}:\d{2}.{0,60})?"
)
_WITH_TIME = re.compile(r"(?P<day>\d{8})(?:000000|T000000Z?)")
# Years of Japanese eras begin with these.
_ERAS = {
    "明治": 1867,
    "大正": 1911,
    "昭和": 1925,
    "平成": 1988,
    "令和": 2018,
    "M": 1867,
    "T": 1911,
    "S": 1925,
    "H": 1988,
    "R": 2018,
    "民國": 1911,
    "民国": 1911,
}
_OF_ERA = re.compile(
    rf"(?P<era>{'|'.join(_ERAS)})(?P<year>\d{{1,3}}|元)[年./-] ?"
    r"(?P<month>\d{1,2})[月./-] ?(?P<day>\d{1,2})日?"
)
_BUDDHIST, _BUDDHIST_YEARS = 543, range(2440, 2600)  # of Thailand, after years of the common era
_OF_AIRLINES = re.compile(r"(\d{1,2})[-/ ]?([A-Za-z]{3})[-/ ]?(\d{4}|\d{2})")  # `29DEC87`, `3-FEB-80`
_MICROSOFT = re.compile(r"/Date\((-?\d{1,15})(?:[+-]\d{4})?\)/")  # JSON of .NET
_DAYS_OF_DIGITS = re.compile(r"\d{8}")
_SECONDS = 86_400  # of a day
_LAST_OF_MONTH = 31
_OLDEST = date(1900, 1, 1)
_EPOCH = date(1970, 1, 1)  # a zero, far more often than a birthday
_LONGEST_DAY = len("19800203")
_LONGEST_NUMBER = 16
_CENTURY = 100
_COMPARED = re.compile(r"[<>]=? ?['\"]?\Z")  # of a query: no birth
# A date in a sentence. What a time follows is an event.
_IN_SENTENCE = re.compile(
    rf"(?:(?<![\w./-])|(?<=[{UNDIVIDED}]))(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}"
    rf"|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er)?\.?{_OF} {_NAME_OF_MONTH}\.?{_OF} \d{{4}}"
    rf"|{_NAME_OF_MONTH} \d{{1,2}}(?:st|nd|rd|th)?, \d{{4}}"
    rf")(?:(?![\w/-]|\.\d|[ ,]{{1,2}}\d{{1,2}}:\d)|(?=[{UNDIVIDED}]))"
)


def birth_dates(text: str, is_named: Callable[[int, int], bool]) -> Iterator[Hit]:
    """Yield the birth dates in a sentence. `is_named`: the words next to a span say birth."""
    for found in _IN_SENTENCE.finditer(text):
        is_compared = _COMPARED.search(text, max(0, found.start() - 5), found.start()) is not None
        if not is_compared and is_named(found.start(), found.end()) and is_birth_date(found[0]):
            yield Hit(found.start(), found.end(), Kind.BIRTH_DATE, Confidence.LIKELY, "in a text")


def is_birth_date(text: str) -> bool:
    """Return whether a text is a date on which a person may be born."""
    plain = text.strip()
    if (
        len(plain) > _LONGEST_DAY and not _WITH_TIME.fullmatch(plain) and plain.lstrip("-").isdigit()
    ):  # a number that is written as a text
        return is_birth_number(plain)
    printed = _PRINTED.fullmatch(plain) or _WITH_TIME.fullmatch(plain)
    if printed is not None:
        plain = printed[1]
    era = _OF_ERA.fullmatch(plain)
    if era is not None:
        year = _ERAS[era["era"]] + (1 if era["year"] == "元" else int(era["year"]))
        return _is_day(year, int(era["month"]), int(era["day"]))
    found = _DIGITS_OF_DAY.fullmatch(plain) or _YEAR_FIRST.fullmatch(plain)
    if found is not None:
        return _is_day(int(found["year"]), int(found["month"]), int(found["day"]))
    found = _WITH_MONTH.fullmatch(plain)
    if found is not None:
        day = found["day"] or found["after"]
        months = months_of(found["name"])
        return day is not None and any(_is_day(int(found["year"]), month, int(day)) for month in months)
    found = _OF_AIRLINES.fullmatch(plain)
    if found is not None:
        return any(
            _is_day(year, month, int(found[1]))
            for month in months_of(found[2])
            for year in _years(int(found[3]))
        )
    found = _MICROSOFT.fullmatch(plain)
    if found is not None:
        return is_birth_number(found[1])
    found = _DAY_FIRST.fullmatch(plain)
    if found is None:
        return False
    one, other = int(found[1]), int(found[2])
    days = ((other, one), (one, other))
    return any(_is_day(year, *day) for year in _years(int(found[3])) for day in days)


def _years(year: int) -> tuple[int, ...]:
    """Return the years that a year of two digits may be."""
    return (year,) if year >= _CENTURY else (1900 + year, 2000 + year)


def is_birth_number(text: str) -> bool:
    """Return whether a number is a birth date: its digits as a date, days since 1970 as Avro and Kafka
    Connect write them, or the seconds or milliseconds of a midnight. A day of few digits and zeros is what
    redaction leaves.
    """
    if not text.lstrip("-").isdigit() or len(text) > _LONGEST_NUMBER or len(text.strip("-0")) < 2:
        return False
    if _DAYS_OF_DIGITS.fullmatch(text) and is_birth_date(text):
        return True
    number = int(text)
    if 0 <= number <= _LAST_OF_MONTH or _OLDEST.year <= number <= date.today().year:
        return False  # the day or the year alone
    for unit in (1, _SECONDS, _SECONDS * 1_000):
        days, part = divmod(number, unit)
        if part == 0 and _OLDEST.toordinal() <= days + _EPOCH.toordinal() <= date.today().toordinal():
            return True
    return False


def _is_day(year: int, month: int, day: int) -> bool:
    if year in _BUDDHIST_YEARS:
        year -= _BUDDHIST
    try:
        return _OLDEST <= date(year, month, day) <= date.today() and date(year, month, day) != _EPOCH
    except ValueError:
        return False
