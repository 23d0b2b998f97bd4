"""Two reports of `kdissect conform` compared: statements, situations and API versions that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FAILED = "failed"
_VERSION = 1


def _of_version(row: dict[str, Any]) -> str:
    if row["failures"]:
        return FAILED
    return "exercised" if row["exercised"] else "not exercised"


_PARTS: tuple[tuple[str, Callable[[dict[str, Any]], str], Callable[[dict[str, Any]], str]], ...] = (
    ("statements", lambda row: f"{row['code']} {row['name']}", lambda row: str(row["result"])),
    ("situations", lambda row: str(row["name"]), lambda row: str(row["result"])),
    ("versions", lambda row: f"{row['api']} v{row['version']}", _of_version),
)
"""Key of a report, name of a row, and its result."""


class ReportError(Exception):
    """A file is no report. The message is the reason."""


class Change(NamedTuple):
    """A row whose result is another one. `None` is the result of a row that one report does not have."""

    part: str
    name: str
    before: str | None
    after: str | None

    @property
    def is_new_failure(self) -> bool:
        """Whether it fails in the second report only."""
        return self.after == FAILED


def changes(before: Any, after: Any) -> list[Change]:
    """Return what changed between two reports as JSON. Raises ReportError for other JSON."""
    for report in (before, after):
        if not isinstance(report, dict) or report.get("report_version") != _VERSION:
            raise ReportError("it is no report of kdissect conform --format json")
    if (before.get("broker") is None) != (after.get("broker") is None):
        raise ReportError("one report is about a broker, and the other about a client")
    try:
        return list(_changes(before, after))
    except (KeyError, TypeError, AttributeError):
        raise ReportError("it is no report of kdissect conform --format json") from None


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for part, name, result in _PARTS:
        first = {name(row): result(row) for row in before[part]}
        second = {name(row): result(row) for row in after[part]}
        for key in dict.fromkeys((*first, *second)):
            if first.get(key) != second.get(key):
                yield Change(part, key, first.get(key), second.get(key))
