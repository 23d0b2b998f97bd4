"""Moments and spans of time as a line of characters: what happened when, and for how long."""

from __future__ import annotations

_BEFORE = "·"
_LASTS = "━"
_AT = "●"


class Timeline:
    """A line `width` cells long from `start_ns` to `end_ns`."""

    def __init__(self, start_ns: int, end_ns: int, width: int) -> None:
        self._start_ns = start_ns
        self._span_ns = max(end_ns - start_ns, 1)
        self._width = max(width, 1)

    def place(self, time_ns: int) -> int:
        """The cell of a moment."""
        at = (time_ns - self._start_ns) * self._width // self._span_ns
        return max(0, min(at, self._width - 1))

    def line(self, time_ns: int, took_ns: int | None = None) -> str:
        """A dot where something happens, a bar behind it for as long as it takes."""
        first = self.place(time_ns)
        last = first if took_ns is None else self.place(time_ns + took_ns)
        return _BEFORE * first + _AT + _LASTS * (last - first) + _BEFORE * (self._width - last - 1)


def time_ns_of(text: str) -> int:
    """Nanoseconds since 1970 of a time as rows have it (`engine.times.rfc3339`)."""
    from datetime import UTC, datetime

    head, _, fraction = text.rstrip("Z").partition(".")
    at = datetime.fromisoformat(head).replace(tzinfo=UTC)
    return int(at.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)
