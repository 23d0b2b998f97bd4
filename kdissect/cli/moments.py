"""Points in time as users type them for `--since` and `--until`."""

import re
from typing import NamedTuple

from kdissect.engine.times import SECOND_NS

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": SECOND_NS, "m": 60 * SECOND_NS, "h": 3600 * SECOND_NS}
_RELATIVE = re.compile(r"\+(\d+)(?:\.(\d+))?(ns|us|ms|s|m|h)?")
_EPOCH = re.compile(r"(\d+)(?:\.(\d{1,9}))?")
# RFC 3339 section 5.6, with the parts a person leaves out made optional; without an offset UTC is meant,
# as in our output.
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?([Zz]|[+-]\d\d:\d\d)?)?")
FORMS = "RFC 3339 (2024-05-01T10:00:00.5Z), seconds since 1970, or since the first packet (+10s, +500ms, +2m)"


class Moment(NamedTuple):
    """A time in nanoseconds: since 1970 UTC, or since the first packet where `relative`."""

    ns: int
    relative: bool

    def absolute(self, start_ns: int) -> int:
        """Nanoseconds since 1970 UTC, given the time of the first packet."""
        return start_ns + self.ns if self.relative else self.ns


def parse_moment(text: str) -> Moment:
    """A moment from text. Raises ValueError with the forms that are understood."""
    if match := _RELATIVE.fullmatch(text):
        whole, fraction, unit = match.groups()
        return Moment(_scaled(whole, fraction or "", _UNITS[unit or "s"]), True)
    if match := _EPOCH.fullmatch(text):
        return Moment(_scaled(match[1], match[2] or "", SECOND_NS), False)
    if match := _DATE.fullmatch(text):
        return Moment(_date_ns(*match.groups()), False)
    raise ValueError(f"{text!r} is no time; give {FORMS}")


def _scaled(whole: str, fraction: str, unit: int) -> int:
    # exact: a float cannot hold nanoseconds since 1970
    return int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _date_ns(
    date: str, minutes: str | None, seconds: str | None, fraction: str | None, offset: str | None
) -> int:
    from datetime import UTC, datetime  # only where a date was given

    zone = "+00:00" if offset in (None, "Z", "z") else offset
    since = datetime.fromisoformat(f"{date}T{minutes or '00:00'}:{seconds or '00'}{zone}") - datetime(
        1970, 1, 1, tzinfo=UTC
    )
    return (since.days * 86400 + since.seconds) * SECOND_NS + int((fraction or "0").ljust(9, "0"))
