"""Times as text."""

import time

SECOND_NS = 1_000_000_000
MS_NS = 1_000_000
_prefixes: dict[int, str] = {}


def rfc3339(time_ns: int) -> str:
    """Return nanoseconds since 1970 UTC as `2024-05-01T10:00:00.123456789Z` (RFC 3339, nanoseconds always
    shown).
    """
    second, nanos = divmod(time_ns, SECOND_NS)
    prefix = _prefixes.get(second)
    if prefix is None:
        if len(_prefixes) > 4096:  # one entry a second of capture: kept small for long captures
            _prefixes.clear()
        prefix = _prefixes[second] = second_text(second)
    return f"{prefix}.{nanos:09d}Z"


def millis_text(millis: int) -> str | None:
    """Return milliseconds since 1970 UTC in the same form; None for -1, which stands for no timestamp."""
    from kdissect.model.record_batch import NO_TIMESTAMP  # times of frames, in every row, need no batches

    return None if millis == NO_TIMESTAMP else rfc3339(millis * MS_NS)


def second_text(second: int) -> str:
    """Return a second since 1970 UTC as `2024-05-01T10:00:00`."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
    except (OverflowError, OSError, ValueError):  # a corrupt file may hold any 64-bit number
        return f"@{second}"


def ns_of(text: str) -> int:
    """Return the nanoseconds that `rfc3339` wrote; 0 for a text that it did not write."""
    from calendar import timegm  # few ask

    whole, _, fraction = text.rstrip("Z").partition(".")
    try:
        second = timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
        return second * SECOND_NS + int(fraction.ljust(9, "0")[:9] or 0)
    except ValueError:
        return 0
