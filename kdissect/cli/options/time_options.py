"""Points in time for `--since` and `--until`: the forms of the filter language, and plain numbers
of seconds.
"""

import re
from argparse import ArgumentTypeError

from kdissect.engine.times import SECOND_NS
from kdissect.query.values.points_in_time import FORMS, Moment, part_of, read_moment

# `date +%s` and tshark's -t e print seconds since 1970. A number after a plus is in seconds, too
_SECONDS = re.compile(r"(\+?)(\d{1,18})(?:\.(\d{1,9}))?", re.ASCII)


def parse_moment(text: str) -> Moment:
    """Return a moment from text. Raises ValueError with the forms that are understood."""
    if match := _SECONDS.fullmatch(text):
        plus, whole, fraction = match.groups()
        return Moment(int(whole) * SECOND_NS + part_of(fraction, SECOND_NS), "start" if plus else "")
    found = read_moment(text)
    if found is None:
        raise ValueError(f"{text!r} is no time. Use {FORMS}, or seconds since 1970")
    return found


def seconds(text: str) -> float:
    """Return a number of seconds, 0 or more, as a `type` of argparse."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a duration in seconds")
    return found
