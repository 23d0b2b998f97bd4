"""The lines of `kdissect connections`. Those of one SYN, of which a flood has a million, have a pattern."""

from __future__ import annotations

from kdissect.cli.formats import Format
from kdissect.engine.connection_rows import connection_row
from kdissect.engine.flows import ONE_SYN
from kdissect.engine.times import rfc3339
from kdissect.model.packets.stream import CloseKind
from kdissect.session.info import ConnectionInfo

# What differs between connections of one SYN, in the order of a row, and what stands there in a pattern: text
# and numbers that no format escapes, and none of which is part of another.
_VARYING = {
    "number": 7_310_582_946_173_058_261,
    "connection": "7310582946173058262",
    "client": "7310582946173058263",
    "broker": "7310582946173058264",
    "start": "7310582946173058265",
    "start_ns": 7_310_582_946_173_058_266,
}
# By capture set and how they ended.
PATTERNS_KEPT = 1000


class ConnectionLines:
    """Makes lines in a format. It is `delimited` where a line is that of one row, whatever came before."""

    def __init__(self, form: Format, delimited: bool) -> None:
        self._form = form
        self._delimited = delimited
        self._patterns: dict[tuple[str, CloseKind], str] = {}

    def line(self, number: int, info: ConnectionInfo) -> bytes:
        """The line of a connection that is over."""
        # Hot: a row of a connection costs ten times what its line from a pattern does.
        if self._delimited and info.tcp is ONE_SYN and not info.names and info.close is not None:
            kind = info.capture_set, info.close.how
            pattern = self._patterns.get(kind) or self._pattern(kind, info)
            if pattern != _NONE:
                start_ns = info.start_ns
                line = pattern % (number, *info.id_and_ends(), rfc3339(start_ns), start_ns)
                return line.encode("utf-8", "surrogateescape")
        return self._form.line(connection_row(number, info))

    def _pattern(self, kind: tuple[str, CloseKind], info: ConnectionInfo) -> str:
        if len(self._patterns) >= PATTERNS_KEPT:
            self._patterns.clear()
        line = self._form.line(connection_row(0, info) | _VARYING).decode("utf-8", "surrogateescape")
        self._patterns[kind] = found = _pattern_of(line)
        return found


_NONE = "%"  # no pattern: one sign of those that are doubled in each


def _pattern_of(line: str) -> str:
    """A line with its varying values as `%s`, all of them in their order; those it has not show nothing."""
    pattern, at = line.replace("%", "%%"), 0
    for mark in map(str, _VARYING.values()):
        found = pattern.find(mark)
        if pattern.count(mark) > 1 or -1 < found < at:  # the capture set is called so
            return _NONE
        before, behind = (
            (pattern[:found], pattern[found + len(mark) :]) if found >= 0 else (pattern[:at], pattern[at:])
        )
        before += "%s" if found >= 0 else "%.0s"
        pattern, at = before + behind, len(before)
    return pattern
