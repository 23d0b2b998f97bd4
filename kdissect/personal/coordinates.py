"""Positions on the earth: in a text, as a list, or as two fields with telling names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kdissect.personal.hits import Confidence, Hit, Kind

_NUMBER = r"[-+]?\d{1,3}\.\d+"
_PAIR = re.compile(
    rf"(?<![\w.,])(?P<geo>geo:)?(?P<first>{_NUMBER})(?P<one>\s?°?\s?[NS])?\s?[,; ]\s?"
    rf"(?P<second>{_NUMBER})(?P<other>\s?°?\s?[EWO])?(?![\w.])"
)
_MAX_LATITUDE, _MAX_LONGITUDE = 90, 180
_DECIMALS = 3  # some 100 m: fewer decimals name a region


def coordinates(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the pairs of latitude and longitude in a text: as `geo:` URI, with the letters of directions, or
    after a telling name.
    """
    for found in _PAIR.finditer(text):
        if not is_position(found["first"], found["second"]):
            continue
        is_formed = found["geo"] is not None or (found["one"] is not None and found["other"] is not None)
        is_named = any(has_tag(found.start(), tag) for tag in ("geo", "latitude"))
        if is_formed or is_named:
            confidence = Confidence.SURE if is_formed and is_named else Confidence.LIKELY
            yield Hit(found.start(), found.end(), Kind.COORDINATES, confidence, "text")


def is_position(latitude: str, longitude: str) -> bool:
    """Return whether two numbers can be a position that is exact enough to be somebody's."""
    try:
        north, east = float(latitude), float(longitude)
    except ValueError:
        return False
    if not (abs(north) <= _MAX_LATITUDE and abs(east) <= _MAX_LONGITUDE):
        return False
    return max(_decimals(latitude), _decimals(longitude)) >= _DECIMALS


def _decimals(text: str) -> int:
    return len(text.rstrip("0").partition(".")[2])
