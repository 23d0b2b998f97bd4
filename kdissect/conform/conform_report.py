"""Report of a run: API versions, statements, situations and findings, as plain values and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kdissect.model.finding import Severity, Who
from kdissect.model.wording import aligned, runs_text
from kdissect.report.json import report_row
from kdissect.report.json_pages import json_page, schema_beside, versioned
from kdissect.report.printable import printable
from kdissect.report.text import report_text
from kdissect.report.verdict import Verdict

SCHEMA = "conform.schema.json"
NOT_PLAYED = "not played"
"""Result of a situation for which the command was not started."""
Row = dict[str, Any]


class ConformReport(NamedTuple):
    """Results of a run. `tested` is the address of a broker or the command of a client.

    `head` is the first line of the text. `advertised` is the number of versions that the broker advertises.
    """

    who: Who
    tested: str
    head: str
    advertised: int
    versions: Sequence[Row]
    statements: Sequence[Row]
    verdict: Verdict
    over: str = ""
    """The reason why the run ended early."""
    unknown: Sequence[int] = ()
    """API keys that the schema does not have."""
    situations: Sequence[Row] = ()
    skipped: Mapping[str, str] = {}
    """Parts that were not tested to their end, with the reason."""

    @property
    def exercised(self) -> int:
        """The number of versions with a response that decodes."""
        return sum(row["exercised"] for row in self.versions)


def conform_schema() -> str:
    """Return the JSON Schema (2020-12) of the report."""
    return schema_beside(__file__, SCHEMA)


def conform_json(report: ConformReport) -> str:
    """Return the report as JSON."""
    return json_page(conform_row(report))


def conform_row(report: ConformReport) -> Row:
    """Return the report as plain values."""
    return versioned({
        "broker": report.tested if report.who is Who.BROKER else None,
        "client": report.tested if report.who is Who.CLIENT else None,
        "ended_early": report.over or None,
        "unknown_api_keys": sorted(report.unknown),
        "advertised": report.advertised,
        "exercised": report.exercised,
        "versions": list(report.versions),
        "statements": list(report.statements),
        "situations": list(report.situations),
        "skipped": [{"sequence": name, "why": why} for name, why in report.skipped.items()],
        "check": report_row(report.verdict),
    })  # fmt: skip


def failures_by_version(verdict: Verdict) -> Counter[tuple[int | None, int | None]]:
    """Return the number of errors at each API version."""
    return Counter(
        (one.place.api_key, one.place.api_version)
        for one in verdict.findings
        if one.severity is Severity.ERROR
    )


def conform_text(report: ConformReport) -> str:
    """Return the report for people."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ConformReport) -> Iterator[str]:
    yield report.head
    if report.over:
        yield f"the run ended early: {printable(report.over)}"
    if report.unknown:
        yield f"API keys that kdissect does not know: {', '.join(map(str, sorted(report.unknown)))}"
    yield ""
    head = ["api", "key", "versions", "exercised", "requests", "failures"]
    yield from aligned([head, *_api_cells(report.versions)])
    yield ""
    reasons = _reasons(report.versions)
    if reasons:
        yield "not exercised"
        yield from (f"  {what}: {printable(why)}" for what, why in reasons)
        yield ""
    if report.situations:
        yield from aligned([["situation", "result", "requests", "command"], *_situations(report.situations)])
        yield ""
    cells = [
        [row["code"], row["name"], row["level"], row["result"], *_counts(row)] for row in report.statements
    ]
    yield from aligned([["statement", "name", "level", "result", "passed", "failed"], *cells])
    yield ""
    for name, why in report.skipped.items():
        yield f"not tested to its end: {name}: {printable(why)}"
    if report.skipped:
        yield ""
    yield report_text(report.verdict).rstrip("\n")
    if not report.verdict.files:
        yield "the packets are not kept: --capture FILE writes them"


def _situations(rows: Sequence[Row]) -> list[list[str]]:
    return [
        [row["name"], row["result"], str(row["requests"]), printable(row["command"])]
        for row in rows
        if row["result"] != NOT_PLAYED
    ]


def _counts(row: Row) -> list[str]:
    return [str(row["passed"]), str(row["failed"])]


def _api_cells(versions: Sequence[Row]) -> list[list[str]]:
    by_api: dict[int, list[Row]] = {}
    for row in versions:
        by_api.setdefault(row["key"], []).append(row)
    return [
        [
            rows[0]["api"], str(key), runs_text([row["version"] for row in rows]),
            runs_text([row["version"] for row in rows if row["exercised"]]),
            str(sum(row["requests"] for row in rows)), str(sum(row["failures"] for row in rows) or ""),
        ]
        for key, rows in by_api.items()
    ]  # fmt: skip


def _reasons(versions: Sequence[Row]) -> list[tuple[str, str]]:
    """Return APIs with versions, by the reason why no request was sent or answered."""
    by_reason: dict[tuple[str, str], list[int]] = {}
    for row in versions:
        if row["why_not"]:
            by_reason.setdefault((row["api"], row["why_not"]), []).append(row["version"])
    return [(f"{api} v{runs_text(numbers)}", why) for (api, why), numbers in by_reason.items()]
