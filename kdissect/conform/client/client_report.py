"""Report of a run with a client: a row for each situation, and for each version that the client sent."""

from __future__ import annotations

from shlex import join

from kdissect.conform.client.client_suite import ClientRun, head_of
from kdissect.conform.client.scripted_cluster import versions_of
from kdissect.conform.conform_report import ConformReport, Row, failures_by_version
from kdissect.conform.statement_results import statement_rows
from kdissect.model.finding import Who
from kdissect.report.printable import printable
from kdissect.report.verdict import Verdict
from kdissect.rules.client_statements import CLIENT_STATEMENTS
from kdissect.schema.protocol_messages import api_name


def client_report(run: ClientRun, verdict: Verdict) -> ConformReport:
    """Return the report of a run."""
    command = join(run.command)
    advertised = sum(high - low + 1 for low, high in versions_of(run.release).values())
    return ConformReport(
        Who.CLIENT, command, f"client {printable(command)}: {head_of(run)}", advertised,
        _version_rows(run, verdict), statement_rows(CLIENT_STATEMENTS, run.observations), verdict,
        over=run.over, situations=_situation_rows(run),
        skipped=_skipped(run),
    )  # fmt: skip


def _version_rows(run: ClientRun, verdict: Verdict) -> list[Row]:
    """Return a row for each version of which the client sent a request."""
    failures = failures_by_version(verdict)
    return [
        {
            "api": api_name(key), "key": key, "version": version,
            "exercised": (key, version) in run.responses,
            "requests": count, "failures": failures[key, version],
            "why_not": None if (key, version) in run.responses else "no request has a response",
        }
        for (key, version), count in sorted(run.versions.items())
    ]  # fmt: skip


def _situation_rows(run: ClientRun) -> list[Row]:
    return [
        {
            "name": one.situation.name, "about": one.situation.about, "result": one.result,
            "requests": one.requests, "command": one.command, "why_not": one.why or None,
        }
        for one in run.played
    ]  # fmt: skip


def _skipped(run: ClientRun) -> dict[str, str]:
    """Return the reason why a situation has no result, of several situations together if it is the same."""
    names: dict[str, list[str]] = {}
    for one in run.played:
        if one.why:
            names.setdefault(one.why, []).append(one.situation.name)
    return {", ".join(found): why for why, found in names.items()}
