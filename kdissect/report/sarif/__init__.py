"""The report as SARIF 2.1.0 (OASIS): what code scanning services and editors read."""

import json
from typing import Any

from kdissect.report.inert import whole_text
from kdissect.report.json import report_row
from kdissect.report.printable import printable
from kdissect.report.sarif.frames import Frames, uri_of
from kdissect.report.sarif.results import results
from kdissect.report.sarif.rules import rule_row
from kdissect.report.verdict import Verdict
from kdissect.rules.capture_quality import GOOD
from kdissect.rules.registry import ruleset_version

# SARIF 2.1.0 errata 01, section 3.13.3
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# Keys of the JSON report that SARIF says in its own way.
_SAID = frozenset({"findings", "captures", "report_version", "kdissect_version"})
Row = dict[str, Any]


def report_sarif(verdict: Verdict) -> str:
    """The whole report, ASCII only."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(verdict)]}
    return json.dumps(whole_text(log), indent=1, ensure_ascii=True) + "\n"


def _run(verdict: Verdict) -> Row:
    frames = Frames(len(verdict.files))
    found = results(verdict, frames)
    return {
        "tool": {"driver": _driver(verdict)},
        "invocations": [_invocation(verdict)],
        "artifacts": [_capture(path, digest) for path, digest in verdict.captures] + frames.artifacts,
        "results": found,
        "columnKind": "unicodeCodePoints",
        "properties": {name: value for name, value in report_row(verdict).items() if name not in _SAID},
    }


def _driver(verdict: Verdict) -> Row:
    from kdissect import __version__

    return {
        "name": "kdissect",
        "semanticVersion": __version__,
        "version": ruleset_version(verdict.rules),
        "rules": [rule_row(rule) for rule in verdict.rules],
    }


def _invocation(verdict: Verdict) -> Row:
    """Nothing went wrong with the tool; what the capture lacks is a notification."""
    level = "note" if verdict.quality.verdict == GOOD else "warning"
    notes = [{"level": level, "message": {"text": printable(why)}} for why in verdict.quality.reasons]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _capture(path: str, digest: str | None) -> Row:
    artifact: Row = {"location": {"uri": uri_of(path)}, "roles": ["analysisTarget"]}
    return artifact | ({"hashes": {"sha-256": digest}} if digest else {})
