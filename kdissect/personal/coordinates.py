"""Positions on the earth: in a text, as a list, or as two fields with telling names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kdissect.personal.hits import Confidence, Hit, Kind

_NUMBER = r"[-+]?\d{1,3}\.\d+"
# Before a pair in a URL of a map, and in well-known text (OGC 06-103r4, clause 7).
_OPENING = (
    r"(?<!\w)geo:|(?<!\w)s?ll=|(?<=[?&])(?:q|ll|sll|query|center|destination|origin|daddr|saddr|waypoint"
    r"|markers?)=|/maps\S{0,80}?/?@"
    r"|/maps/(?:place|search|dir)/|#map=\d{1,2}/"
)
_PAIR = re.compile(
    rf"(?:(?P<opening>{_OPENING})"
    rf"|(?<![\w.,@/]))(?:(?P<before>[NS])\s?)?(?P<first>{_NUMBER})(?P<one>\s?°?\s?[NS])?"
    rf"\s?(?:[,;/ ]|%2C)\s?(?:(?P<ahead>[EWO])\s?)?(?P<second>{_NUMBER})(?P<other>\s?°?\s?[EWO])?(?![\w.])"
)
_POINT = re.compile(
    rf"\bPOINT ?(?:Z ?)?\(\s?(?P<second>{_NUMBER}) (?P<first>{_NUMBER})(?: {_NUMBER})?\s?\)", re.IGNORECASE
)
# Degrees, minutes and seconds. Marks of minutes and seconds are quotes of several kinds.
_SECONDS = r"(?:\s?\d{1,2}(?:\.\d+)?\s?(?:[\"\u2033\u201d]|''|\u2032\u2032))?"
_MINUTES = rf"(?:\s?\d{{1,2}}(?:\.\d+)?\s?['\u2032\u2019]{_SECONDS})"
_ANGLE = rf"\d{{1,3}}\s?[°º]{_MINUTES}"
_ANGLES = re.compile(
    rf"(?<!\w)(?:{_ANGLE}\s?[NS][,;/ ]{{0,3}}{_ANGLE}\s?[EWO]"
    rf"|[NS]\s?{_ANGLE}[,;/ ]{{0,3}}[EWO]\s?{_ANGLE})(?!\w)"
)
# Sentences of NMEA 0183 with degrees and minutes.
_NMEA = re.compile(
    r"(?<=\$G[PNLAB](?:GGA|RMC|GLL"
    r"|GNS),)(?:\d{6}(?:\.\d+)?,)?(?:[AV],)?(?P<at>\d{4}\.\d+,[NS],\d{5}\.\d+,[EW])(?=,)"
)
_NAMED_PAIR = re.compile(
    rf"\b(?:lat|latitude)\b[\"']?\s?:?\s?(?P<first>{_NUMBER})[°]?(?:\s?[,;/|]|\s)\s?(?:and\s)?[\"']?"
    rf"(?:lon|lng|long|longitude)\b[\"']?\s?:?\s?(?P<second>{_NUMBER})(?![\w.])",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"\d\.\d")
_DEGREES = re.compile(rf"({_NUMBER}|[-+]?\d{{1,3}}(?:\.\d*)?)\s?°?\s?[NSEWO]?|[NSEWO]\s?({_NUMBER})°?")
_ONE_ANGLE = re.compile(rf"[NSEWO]?\s?({_ANGLE})\s?[NSEWO]?")
_MAX_LATITUDE, _MAX_LONGITUDE = 90, 180
_DECIMALS = 3  # some 100 m: fewer decimals name a region
_SCALE = 10**7  # of integers such as `latitudeE7`
_SMALLEST_SCALED = 10**5


def coordinates(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the pairs of latitude and longitude in a text: as `geo:` URI or in a URL of a map, as well-known
    text, with the letters of directions, or after a telling name.
    """
    if len(_DECIMAL.findall(text)) < 2:  # most texts with digits have no fractions
        yield from _written_angles(text)
        return
    for found in _PAIR.finditer(text):
        if not is_position(found["first"], found["second"]):
            continue
        letters = (found["before"] or found["one"], found["ahead"] or found["other"])
        is_formed = found["opening"] is not None or None not in letters
        is_named = any(has_tag(found.start(), tag) for tag in ("geo", "latitude"))
        if is_formed or (is_named and "/" not in found[0]):
            confidence = Confidence.SURE if is_formed and is_named else Confidence.LIKELY
            is_geo = found["opening"] in (None, "geo:")
            start = found.start() if is_geo else found.start("first")
            yield Hit(start, found.end(), Kind.COORDINATES, confidence, "text")
    yield from _written(text)


def _written(text: str) -> Iterator[Hit]:
    """Yield positions whose form says what they are."""
    for found in _POINT.finditer(text):
        if is_position(found["first"], found["second"]):
            start, end = found.start("second"), found.end("first")
            yield Hit(start, end, Kind.COORDINATES, Confidence.LIKELY, "well-known text")
    yield from _written_angles(text)
    for found in _NMEA.finditer(text):
        yield Hit(found.start("at"), found.end("at"), Kind.COORDINATES, Confidence.SURE, "NMEA 0183")
    for found in _NAMED_PAIR.finditer(text):
        if is_position(found["first"], found["second"]):
            for group, form in (("first", "first of two"), ("second", "second of two")):
                yield Hit(found.start(group), found.end(group), Kind.COORDINATES, Confidence.LIKELY, form)


def _written_angles(text: str) -> Iterator[Hit]:
    for found in _ANGLES.finditer(text):
        yield Hit(found.start(), found.end(), Kind.COORDINATES, Confidence.LIKELY, "degrees and minutes")


def is_position(latitude: str, longitude: str) -> bool:
    """Return whether two numbers can be a position that is exact enough to be somebody's."""
    try:
        north, east = float(latitude), float(longitude)
    except ValueError:
        return False
    if not (abs(north) <= _MAX_LATITUDE and abs(east) <= _MAX_LONGITUDE):
        return False
    return max(_decimals(latitude), _decimals(longitude)) >= _DECIMALS


def is_written_position(latitude: str, longitude: str) -> bool:
    """Return whether the texts of two fields are a position, also with letters of directions, in degrees and
    minutes, or as integers of ten millionths of degrees.
    """
    if all(
        one.lstrip("-").isdigit() and len(one.lstrip("-")) > len(str(_SMALLEST_SCALED))
        for one in (latitude, longitude)
    ):
        latitude, longitude = (f"{int(one) / _SCALE:.7f}" for one in (latitude, longitude))
    if all(map(_ONE_ANGLE.fullmatch, (latitude.strip(), longitude.strip()))):
        return True
    found = [_DEGREES.fullmatch(one.strip()) for one in (latitude, longitude)]
    return None not in found and is_position(*(one[1] or one[2] for one in found if one is not None))


def _decimals(text: str) -> int:
    return len(text.rstrip("0").partition(".")[2])
