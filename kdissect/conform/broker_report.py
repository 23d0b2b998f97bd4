"""Report of a run against a broker: a row for each version that it advertises."""

from __future__ import annotations

from kdissect.conform.broker_run import BrokerRun
from kdissect.conform.conform_report import ConformReport, Row, failures_by_version
from kdissect.conform.statement_results import statement_rows
from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.report.verdict import Verdict
from kdissect.rules.broker_statements import BROKER_STATEMENTS
from kdissect.schema.protocol_messages import api_name

_NO_REQUEST = "the run ended before"


def broker_report(run: BrokerRun, verdict: Verdict) -> ConformReport:
    """Return the report of a run."""
    versions = _version_rows(run, verdict)
    count, exercised = len(versions), sum(row["exercised"] for row in versions)
    share = f" ({100 * exercised // count} %)" if count else ""
    head = (
        f"broker {run.address}: {plural(len(run.advertised), 'API')}, {plural(count, 'version')} advertised, "
        f"{exercised} exercised{share}"
    )
    return ConformReport(
        Who.BROKER, str(run.address), head, count, versions,
        statement_rows(BROKER_STATEMENTS, run.observations), verdict,
        over=run.over, unknown=run.unknown, skipped=run.skipped,
    )  # fmt: skip


def _version_rows(run: BrokerRun, verdict: Verdict) -> list[Row]:
    """Return a row for each advertised version."""
    failures = failures_by_version(verdict)
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
