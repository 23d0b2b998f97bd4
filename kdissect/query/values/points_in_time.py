"""Points in time: RFC 3339, a time of day, or counted from the capture's first packet."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.engine.times import SECOND_NS
from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.units import DURATIONS
from kdissect.query.values.value_kinds import ValueKind, whole

DAY_NS = 86400 * SECOND_NS
FORMS = "2024-05-01T10:00:00Z, 10:00:05, +1.5s, +00:01:30"
# RFC 3339 section 5.6, with the parts that people leave out made optional. Without an offset it is UTC.
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)?)?", re.ASCII
)
_CLOCK = re.compile(r"(\+?)(\d{1,4}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_LATER = re.compile(r"\+(\d{1,18})(?:\.(\d{1,9}))?(ns|us|ms|s|m|min|h|d)", re.ASCII)


class Moment(NamedTuple):
    """Nanoseconds since 1970 UTC, the first packet (`start`), or the midnight before it (`day`)."""

    ns: int
    since: str = ""

    def absolute(self, start_ns: int) -> int:
        """Return nanoseconds since 1970 UTC."""
        if self.since == "start":
            return start_ns + self.ns
        return start_ns - start_ns % DAY_NS + self.ns if self.since == "day" else self.ns


class Time(ValueKind):
    """Points in time. The field counts `scale` nanoseconds since 1970 UTC."""

    name = quantity = "time"
    doc = (
        "a point in time: RFC 3339, a time of day (UTC, on the day of the first packet), or since the first "
        "packet with a +"
    )
    example = "+10s"
    ordered = True

    def __init__(self, scale: int, unit: str) -> None:
        self.scale = scale
        self.unit = unit

    def parse(self, literal: Literal) -> Any:
        """Return a Moment, or a whole number of the field's own unit."""
        number = None if literal.text.startswith("+") else whole(literal.text)
        if number is not None:
            return Moment(number * self.scale)
        found = read_moment(literal.text)
        if found is None:
            raise ValueError(f"{literal.text!r} is no time\nfor example {FORMS}")
        return found

    def bind(self, value: Moment, start_ns: Callable[[], int]) -> Any:
        """Return the moment in the field's own unit."""
        ns = value.absolute(start_ns() if value.since else 0)
        return ns / self.scale if ns % self.scale else ns // self.scale


def read_moment(text: str) -> Moment | None:
    """Return a moment from text, None if it has another form. Raises ValueError if a date does not exist."""
    return _later(text) or _clock(text) or _date(text)


def part_of(fraction: str | None, factor: int) -> int:
    """Return the digits after a point, in the unit of which `factor` make one: a float could not hold it."""
    return int(fraction) * factor // 10 ** len(fraction) if fraction else 0


def _later(text: str) -> Moment | None:
    match = _LATER.fullmatch(text)
    if match is None:
        return None
    factor = DURATIONS[match[3]]
    return Moment(int(match[1]) * factor + part_of(match[2], factor), "start")


def _clock(text: str) -> Moment | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    plus, hours, minutes, seconds, fraction = match.groups()
    total = int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)
    return Moment(total * SECOND_NS + part_of(fraction, SECOND_NS), "start" if plus else "day")


def _date(text: str) -> Moment | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    from datetime import UTC, datetime  # start-up: few filters name a date

    date, clock, fraction, offset = match.groups()
    zone = "+00:00" if offset in (None, "Z", "z") else offset
    try:
        at = datetime.fromisoformat(f"{date}T{clock or '00:00'}{zone}")
    except ValueError as error:
        raise ValueError(f"{text!r} is no time: {error}") from None
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return Moment((since.days * 86400 + since.seconds) * SECOND_NS + part_of(fraction, SECOND_NS))


TIME_NS, TIME_MS = Time(1, "ns since 1970"), Time(10**6, "ms since 1970")
