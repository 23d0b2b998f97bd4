"""Two reports of `kdissect conform` compared: statements, situations, API versions and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FAILED = "failed"
_ERROR = "error"
_VERSION = 1


def _of_version(row: dict[str, Any]) -> str:
    if row["failures"]:
        return FAILED
    return "exercised" if row["exercised"] else "not exercised"


class _Part(NamedTuple):
    """Rows of a report: its key, the types of their fields, the name of a row and its result."""

    key: str
    fields: dict[str, type]
    name: Callable[[dict[str, Any]], str]
    result: Callable[[dict[str, Any]], str]


def _named(row: dict[str, Any]) -> str:
    return f"{row['code']} {row['name']}"


_PARTS = (
    _Part("statements", {"code": str, "name": str, "result": str}, _named, lambda row: str(row["result"])),
    _Part("situations", {"name": str, "result": str}, lambda row: row["name"], lambda row: row["result"]),
    _Part(
        "versions", {"api": str, "version": int, "exercised": bool, "failures": int},
        lambda row: f"{row['api']} v{row['version']}", _of_version,
    ),
    _Part(
        "findings", {"code": str, "name": str, "level": str, "severity": str},
        lambda row: f"{_named(row)}, {row['level']}",
        lambda row: FAILED if row["severity"] == _ERROR else row["severity"],
    ),
)  # fmt: skip


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


def check_report(report: Any) -> None:
    """Raise ReportError if a value is no report, or has rows of other types."""
    is_report = isinstance(report, dict) and report.get("report_version") == _VERSION
    if not is_report or not isinstance(report.get("ended_early"), (str, type(None))):
        raise ReportError("it is no report of kdissect conform --format json")
    for part in _PARTS:
        rows = _rows(report, part)
        if not isinstance(rows, list) or not all(_is_row(row, part) for row in rows):
            raise ReportError(f"it is no report of kdissect conform --format json: see {part.key}")


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """Return what changed between two reports. Raises ReportError if they are about different ends."""
    if (before.get("broker") is None) != (after.get("broker") is None):
        raise ReportError("one report is about a broker, and the other about a client")
    return list(_changes(before, after))


def _rows(report: dict[str, Any], part: _Part) -> Any:
    if part.key != "findings":
        return report.get(part.key)
    check = report.get("check")
    return check.get(part.key) if isinstance(check, dict) else None


def _is_row(row: Any, part: _Part) -> bool:
    return isinstance(row, dict) and all(type(row.get(name)) is kind for name, kind in part.fields.items())


def _results(report: dict[str, Any], part: _Part) -> dict[str, str]:
    """Return results by name: the failure if findings share a name. Findings of statements are left out."""
    stated = {row["code"] for row in report["statements"]} if part.key == "findings" else ()
    found: dict[str, str] = {}
    for row in _rows(report, part):
        name = part.name(row)
        if row.get("code") not in stated and found.get(name) != FAILED:
            found[name] = part.result(row)
    return found


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for part in _PARTS:
        first, second = _results(before, part), _results(after, part)
        for key in dict.fromkeys((*first, *second)):
            if first.get(key) != second.get(key):
                yield Change(part.key, key, first.get(key), second.get(key))
