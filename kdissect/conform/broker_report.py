"""Report of a run against a broker: API versions, statements and findings, as plain values and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.conform.broker_run import BrokerRun
from kdissect.model.finding import Severity
from kdissect.model.wording import aligned, plural, runs_text
from kdissect.report.json import report_row
from kdissect.report.json_pages import json_page, schema_beside, versioned
from kdissect.report.printable import printable
from kdissect.report.text import report_text
from kdissect.report.verdict import Verdict
from kdissect.rules.statements import STATEMENTS
from kdissect.schema.protocol_messages import api_name

SCHEMA = "conform_broker.schema.json"
Row = dict[str, Any]
_NO_REQUEST = "the run ended before"


def conform_schema() -> str:
    """Return the JSON Schema (2020-12) of the report."""
    return schema_beside(__file__, SCHEMA)


def conform_json(run: BrokerRun, verdict: Verdict) -> str:
    """Return the report as JSON."""
    return json_page(conform_row(run, verdict))


def conform_row(run: BrokerRun, verdict: Verdict) -> Row:
    """Return the report as plain values."""
    versions = version_rows(run, verdict)
    return versioned({
        "broker": str(run.address),
        "ended_early": run.over or None,
        "unknown_api_keys": sorted(run.unknown),
        "advertised": len(versions),
        "exercised": sum(row["exercised"] for row in versions),
        "versions": versions,
        "statements": statement_rows(run),
        "skipped": [{"sequence": name, "why": why} for name, why in run.skipped.items()],
        "check": report_row(verdict),
    })  # fmt: skip


def version_rows(run: BrokerRun, verdict: Verdict) -> list[Row]:
    """Return a row for each advertised version."""
    failures: Counter[tuple[int | None, int | None]] = Counter()
    for finding in verdict.findings:
        if finding.severity is Severity.ERROR:
            failures[finding.place.api_key, finding.place.api_version] += 1
    rows = []
    for key, (low, high) in sorted(run.advertised.items()):
        for version in range(low, high + 1):
            is_exercised = (key, version) in run.exercised
            rows.append({
                "api": api_name(key), "key": key, "version": version, "exercised": is_exercised,
                "requests": run.requests.get((key, version), 0), "failures": failures[key, version],
                "why_not": None if is_exercised else _why_not(run, key, version),
            })  # fmt: skip
    return rows


def _why_not(run: BrokerRun, key: int, version: int) -> str:
    if (key, version) in run.why_not:
        return run.why_not[key, version]
    if (key, version) in run.requests:
        return "no request has a response that decodes"
    return "--api leaves it out" if run.wanted is not None and key not in run.wanted else _NO_REQUEST


def statement_rows(run: BrokerRun) -> list[Row]:
    """Return a row for each statement: how often it passed and failed."""
    passed = Counter(one.code for one in run.observations if one.passed)
    failed = Counter(one.code for one in run.observations if not one.passed)
    return [
        {
            "code": one.code, "name": one.name, "level": str(one.level),
            "statement": " ".join((one.__doc__ or "").split()), "cites": list(one.cites),
            "result": _result(passed[one.code], failed[one.code]),
            "passed": passed[one.code], "failed": failed[one.code],
        }
        for one in STATEMENTS
    ]  # fmt: skip


def _result(passed: int, failed: int) -> str:
    if failed:
        return "failed"
    return "passed" if passed else "not tested"


def conform_text(run: BrokerRun, verdict: Verdict) -> str:
    """Return the report for people."""
    return "\n".join(_lines(run, verdict)) + "\n"


def _lines(run: BrokerRun, verdict: Verdict) -> Iterator[str]:
    versions = version_rows(run, verdict)
    count, exercised = len(versions), sum(row["exercised"] for row in versions)
    share = f" ({100 * exercised // count} %)" if count else ""
    yield (
        f"broker {run.address}: {plural(len(run.advertised), 'API')}, {plural(count, 'version')} advertised, "
        f"{exercised} exercised{share}"
    )
    if run.over:
        yield f"the run ended early: {printable(run.over)}"
    if run.unknown:
        yield f"API keys that kdissect does not know: {', '.join(map(str, sorted(run.unknown)))}"
    yield ""
    head = ["api", "key", "versions", "exercised", "requests", "failures"]
    yield from aligned([head, *_api_cells(versions)])
    yield ""
    reasons = _reasons(versions)
    if reasons:
        yield "not exercised"
        yield from (f"  {what}: {printable(why)}" for what, why in reasons)
        yield ""
    rows = statement_rows(run)
    cells = [[row["code"], row["name"], row["level"], row["result"], *_counts(row)] for row in rows]
    yield from aligned([["statement", "name", "level", "result", "passed", "failed"], *cells])
    yield ""
    for name, why in run.skipped.items():
        yield f"not tested to its end: {name}: {printable(why)}"
    if run.skipped:
        yield ""
    yield report_text(verdict).rstrip("\n")
    if not verdict.files:
        yield "the packets are not kept: --capture FILE writes them"


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
